"""Both services over one world: what rows measure on, and what they may spend."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bench.answers import WrongAnswer
from bench.audit import Book
from bench.client import Connection, Get
from bench.services import PROCESSES, THREADS, Service
from bench.worlds import LoadedWorld

OURS, REFERENCE = "ours", "reference"
# the unit of a difference, which may be nothing or less: no ratio is made of it
MORE = "ms more"


@dataclass(frozen=True)
class Budget:
    """How long a row may take; ``cutoff_seconds`` ends one request."""

    seconds: float
    samples: int
    cutoff_seconds: float
    restarts: int
    # how often several clients work on each service in turn
    turns: int


@dataclass(frozen=True)
class Figure:
    """What was measured of one service: milliseconds, a rate a second, or MB."""

    value: float
    unit: str = "ms"
    p99: float | None = None
    samples: int = 1
    note: str = ""
    cut_off: bool = False
    # the length of an answer's body
    bytes: int = 0

    def noting(self, more: str) -> "Figure":
        """The same with one more note."""
        return replace(self, note="; ".join(filter(None, (self.note, more))))


Figures = Mapping[str, Figure]
Services = Mapping[str, Service]


@dataclass
class Stage:
    """Both services over one world, with a book for each of what it accepted."""

    services: Services
    place: LoadedWorld
    budget: Budget
    books: dict[str, Book] = field(init=False)

    def __post_init__(self) -> None:
        self.books = {name: Book(self.place) for name in self.services}

    def connect(self, name: str, patience_seconds: float | None = None) -> Connection:
        """A connection to a service that gives up in time: at the cut-off, unless said."""
        patience = patience_seconds or self.budget.cutoff_seconds
        return self.services[name].connect(patience, self.books[name].note)

    def restart(self, name: str, *, kindly: bool = True) -> None:
        """Start a service anew and let each of its processes answer once."""
        self.services[name].stop(kindly=kindly)
        self.services[name].start()
        self.warm(name)

    def warm(self, name: str) -> dict[int, Connection]:
        """Return a connection to each process, after its first answer about candidates.

        A small question in each process loads what is kept between requests.
        """
        root = next(iter(self.place.providers.values()))[0]
        question = Get(f"/allocation_candidates?resources=VCPU:1&limit=1&in_tree={root}")
        reached: dict[int, Connection] = {}
        held: list[Connection] = []
        while len(reached) < PROCESSES and len(held) < PROCESSES * THREADS:
            held.append(self.connect(name))
            held[-1].send(question)
            reached.setdefault(worker_of(self.services[name], held[-1]), held[-1])
        return reached

    def audited(self, figures: Figures) -> Figures:
        """The figures, with a note where the reference lost or doubled what it accepted.

        Raises: WrongAnswer if ours did.
        """
        mistakes = {name: self._mistake(name) for name in figures}
        if mistakes[OURS]:
            raise WrongAnswer(f"{OURS}: {mistakes[OURS]}")
        return {name: figure.noting(mistakes[name]) for name, figure in figures.items()}

    def _mistake(self, name: str) -> str:
        try:
            return self.books[name].mistake(self.connect(name))
        except (OSError, WrongAnswer) as unknown:
            return f"what is stored is not known: {unknown}"


def worker_of(service: Service, connection: Connection) -> int:
    """The process id of the worker at the other end of an open connection."""
    port = connection.local_port()
    for worker in service.workers():
        for link in worker.net_connections("tcp4"):
            if link.raddr and link.raddr.port == port:
                return int(worker.pid)
    return 0
