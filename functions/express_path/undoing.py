"""What the plan function does for an undo: plan it, and look whether its changes took effect. It only reads."""

from typing import Any

from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.adapters.heal_requests import HealRequest, undo_answer
from express_path.domain.healing import RUN_TAG
from express_path.domain.undo import Undo, check_deleted, make_undo
from express_path.errors import NotDisassociatedError
from express_path.looking import look_until


class Undoing:
    """Plans undos in one account."""

    def __init__(self, snapshots: SnapshotReader, account_id: str) -> None:
        """Prepare; nothing is read before it is asked for."""
        self._snapshots = snapshots
        self._account_id = account_id

    def plan(self, request: HealRequest) -> dict[str, Any]:
        """What an undo of one run would change now; asked again after each change.

        Raises NotDeletedError, and NotDisassociatedError where a change is not to be seen.
        """
        check_deleted(request.refusals)
        undo = self._undo(request.undo_run_id)
        if request.disassociated:
            undo = look_until(lambda: self._undo(request.undo_run_id), lambda seen: not seen.disassociate)
            if undo.disassociate:
                raise NotDisassociatedError(undo.route_table_id, undo.endpoint_id)
        return undo_answer(undo)

    def _undo(self, run_id: str) -> Undo:
        return make_undo(self._snapshots.read_tagged(self._account_id, RUN_TAG, run_id), run_id)
