"""moto's threaded server, with the sandbox's call log and faults in front of it."""

from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import make_server

from sandbox.backends import moto_application
from sandbox.calls import CallLog
from sandbox.faults import Faults
from sandbox.front import Front
from sandbox.prices import Prices
from sandbox.stale_reads import StaleReads

HOST = "127.0.0.1"


class _QuietHandler(MotoRequestHandler):
    """Serves requests without a line on standard error for each."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Print nothing: the call log has the request."""


class WebServer(ThreadedMotoServer):
    """moto's threaded server behind the sandbox's front; closes its socket when stopped."""

    def __init__(self, calls: CallLog, faults: Faults, prices: Prices, reads: StaleReads) -> None:
        """Prepare a server on a free port of the loopback address; nothing is served yet."""
        super().__init__(ip_address=HOST, port=0, verbose=False)
        self.application = Front(prices.before(moto_application()), calls, faults, reads)

    def _server_entry(self) -> None:
        self._server = make_server(HOST, 0, self.application, threaded=True, request_handler=_QuietHandler)
        self._server_ready_event.set()
        self._server.serve_forever()

    def stop(self) -> None:
        """Stop serving and free the port."""
        super().stop()
        if self._server:
            self._server.server_close()
