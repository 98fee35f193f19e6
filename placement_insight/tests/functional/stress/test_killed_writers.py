"""Processes that are killed while they write leave records of exactly what they committed."""

import logging
import multiprocessing

import pytest

from placement.tests.support.waiting import wait_until
from placement_insight.tests.functional.history.replay import State, oldest_first, state_of
from placement_insight.tests.functional.stress.test_processes_agree import Writer, new_service

PROCESSES, ROUNDS, CHANGES = 2, 2, 60

pytestmark = pytest.mark.long


def write_until_killed(url, seed):
    logging.disable()
    with new_service(url) as service:
        writer = Writer(service, seed)
        while True:
            writer.run(100)


def is_exact(store):
    """Return whether the records replayed are the state; a server ends transactions later."""
    return State().replay(oldest_first(store)).values() == state_of(store).values()


def test_records_of_killed_processes_are_exact(database_url, store):
    fork = multiprocessing.get_context("fork")
    for number in range(ROUNDS):
        before = len(oldest_first(store))
        writers = [
            fork.Process(target=write_until_killed, args=(database_url, number * PROCESSES + each))
            for each in range(PROCESSES)
        ]
        for process in writers:
            process.start()
        wait_until(lambda before=before: len(oldest_first(store)) > before + CHANGES)
        for process in writers:
            process.kill()
            process.join()
        wait_until(lambda: is_exact(store))
