"""moto's threaded server, with the sandbox's call log and faults in front of it."""

from contextlib import suppress

from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import make_server

from config_rule_sandbox.calls import CallLog
from config_rule_sandbox.faults import Faults
from config_rule_sandbox.http.front import Front
from config_rule_sandbox.http.in_memory import moto_application
from config_rule_sandbox.pricing.price_list import Prices
from config_rule_sandbox.stale_reads import StaleReads

HOST = "127.0.0.1"


class _Handler(MotoRequestHandler):
    """Serves requests without a line on standard error for each, and sends the head and the body of an answer together.

    werkzeug sends one after the other. Between them, a busy AWS SDK for Go 2 may close the connection and repeat a request
    that was carried out, which then fails with RouteAlreadyExists or InvalidSubnet.Conflict. The SDK closes the body of
    its request when it has the head of the answer. If Go is still writing that body, it takes this for a failed write:
    `ClientHandler.Handle` and `safeWriteToReadCloser` in https://github.com/aws/smithy-go/tree/v1.22.3/transport/http.
    Answers that Go reads in parts, of more than 4 KB, are still affected, but only operations that read have them.
    """

    wbufsize = -1

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Print nothing: the call log has the request."""

    def finish(self) -> None:
        """Close the connection, whose client may be gone while an answer is buffered."""
        with suppress(ConnectionError):
            super().finish()


class WebServer(ThreadedMotoServer):
    """moto's threaded server behind the sandbox's front; closes its socket when stopped."""

    def __init__(self, calls: CallLog, faults: Faults, prices: Prices, reads: StaleReads) -> None:
        """Prepare a server on a free port of the loopback address; nothing is served yet."""
        super().__init__(ip_address=HOST, port=0, verbose=False)
        self.application = Front(prices.before(moto_application()), calls, faults, reads)

    def _server_entry(self) -> None:
        self._server = make_server(HOST, 0, self.application, threaded=True, request_handler=_Handler)
        self._server_ready_event.set()
        self._server.serve_forever()

    def stop(self) -> None:
        """Stop serving and free the port."""
        super().stop()
        if self._server:
            self._server.server_close()
