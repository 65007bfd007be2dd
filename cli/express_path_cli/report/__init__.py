"""The report: one HTML file that shows a result, made of the page's files beside this one."""
