// Elements are created, never parsed from text, so that names from AWS stay text.

const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

/** An HTML element; attributes that are null or false are omitted, those that begin with "on" are listeners. */
function element(name, attributes = {}, ...children) {
    return filled(document.createElement(name), attributes, children);
}

/** An SVG element, with the same rules. */
function drawn(name, attributes = {}, ...children) {
    return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(made, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
        if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
        else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== ""));
    return made;
}

/** A text that can wrap after each underscore. */
function breakable(text) {
    const parts = text.split(/(?<=_)/);
    return parts.flatMap((part, place) => (place ? [element("wbr"), part] : [part]));
}

const code = (text) => element("code", {}, text);

const numbers = new Intl.NumberFormat("en");

/** A number and its noun, such as 1,200 subnets. */
const count = (number, noun) => `${numbers.format(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Whether the screen is a phone's, where a list begins with few rows. */
const isNarrow = matchMedia("screen and (max-width: 700px)");

/** How many rows a list begins with. */
const firstOf = (many, few) => (isNarrow.matches ? few : many);
