"""An observer that keeps what the engine reports."""

from placement.events import Observer


class RecordingObserver(Observer):
    """Keeps the kinds of reads, and ``discard``, in ``reports``."""

    def __init__(self):
        self.reports = []

    def snapshot_read(self, kind, seconds):
        assert seconds >= 0
        self.reports.append(kind)

    def snapshot_discarded(self):
        self.reports.append("discard")
