"""What dbt, jinja, py4j and pyspark find out again in each command or statement, found out once in a process of tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import jinja2
from dbt import tracking
from dbt.plugins.manager import PluginManager
from dbt_common.behavior_flags import BehaviorFlagRendered
from dbt_common.events.base_types import BaseEvent, EventLevel
from dbt_common.events.event_manager import EventManager
from dbt_common.tests import enable_test_caching
from py4j.java_gateway import JavaClass, JavaMember, JVMView
from pyspark import traceback_utils


def take() -> None:
    """Take all of them. None changes what a command does."""
    enable_test_caching()  # of templates that dbt parses, as in its own tests
    jinja2.Environment.compile = _once(jinja2.Environment.compile)
    # the names of all modules that Python can import, among which dbt looks for plugins
    PluginManager.get_prefixed_modules = staticmethod(cache(PluginManager.get_prefixed_modules))
    # which module has a flag and which line calls Spark, found in the source of each function on the stack
    BehaviorFlagRendered._default_source = staticmethod(lambda: "dbt.adapters")
    traceback_utils.first_spark_call = lambda: None
    EventManager.fire_event = _if_heard(EventManager.fire_event)
    JVMView.__getattr__ = _remembering(JVMView.__getattr__, JavaClass)
    JavaClass.__getattr__ = _remembering(JavaClass.__getattr__, JavaMember)


def _once(method: Callable) -> Callable:
    """Return a method of jinja's Environment that takes each template once: dbt compiles each project's macros."""
    known = {}

    def of(environment: jinja2.Environment, source: object, *names: object, **options: object):  # noqa: ANN202
        given = type(environment), *environment.extensions, *names, *options.items(), source
        if not isinstance(source, str):
            return method(environment, source, *names, **options)
        if given not in known:
            known[given] = method(environment, source, *names, **options)
        return known[given]

    return of


def _if_heard(fire: Callable) -> Callable:
    """Return EventManager.fire_event without the events for debugging that no log and no listener of a test takes."""
    for_debugging = (EventLevel.DEBUG, EventLevel.TEST)
    dbt_s_own = getattr(tracking, "track_behavior_change_warn", None)  # takes warnings alone

    # `e` is the name by which dbt gives it
    def of(manager: EventManager, e: BaseEvent, level: EventLevel | None = None, *given: object, **options: object) -> None:
        listeners = [callback for callback in manager.callbacks if callback is not dbt_s_own]
        heard = listeners or any(logger.level in for_debugging for logger in manager.loggers)
        if heard or (level or e.level_tag()) not in for_debugging:
            fire(manager, e, level, *given, **options)

    return of


def _remembering(find: Callable, kind: type) -> Callable:
    """Return __getattr__ of py4j, which asks Java what has a name each time, with a memory of what is of a kind."""

    def of(view: JVMView | JavaClass, name: str):  # noqa: ANN202
        found = find(view, name)
        if isinstance(found, kind):
            setattr(view, name, found)  # Python asks __getattr__ for what is not there
        return found

    return of
