"""The steps of `scripts/cluster-check`, one after another: each ends in a row of the table. A step that fails ends the
walk; what was made is removed all the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kit.compose.wait import Clock
from kit.errors import KitError, Problem, TargetError
from kit.kubernetes.apply import apply_all, changed_again, key_of, named, ours, prune, remove_all
from kit.kubernetes.check_stack import CheckStack, PrintedStack
from kit.kubernetes.cluster import ApplyConflict, Cluster, Json
from kit.kubernetes.inside import crash, restarts, upload_all
from kit.kubernetes.names import COMPONENT
from kit.kubernetes.traffic import Tally, asking, endpoint, verified
from kit.kubernetes.wait import Said, until_ready

SETTLE_SECONDS = 150.0  # after which the router has read a ConfigMap that changed: the kubelet takes up to a minute
OTHER_MANAGER = "someone-else"


@dataclass(frozen=True)
class WalkRow:
    """A step, whether it passed, how long it took, and what was seen."""

    step: str
    ok: bool
    seconds: float
    said: str


@dataclass
class ClusterWalk:
    """One walk through a cluster. `timeout` bounds each wait in seconds, `settle` that for names which do not
    answer yet; `keep` leaves everything at the end."""

    cluster: Cluster
    stack: CheckStack
    clock: Clock
    say: Said
    timeout: float = 900.0
    settle: float = SETTLE_SECONDS
    keep: bool = False
    rows: list[WalkRow] = field(default_factory=list)
    made: bool = False

    def run(self) -> Sequence[WalkRow]:
        """Every step, until one fails; then the removal."""
        try:
            self._steps()
        finally:
            if self.made and not self.keep:
                self._step("removed", self.remove)
        return self.rows

    def _steps(self) -> None:
        first = self._step("printed", lambda: self._printed(self.stack))
        if not isinstance(first, PrintedStack) or not self._step("cluster", self.reached):
            return
        edited = self.stack.edited()
        steps: list[tuple[str, Callable[[], object]]] = [
            ("applied", lambda: self.applied(first)),
            ("uploaded", lambda: self.uploaded(self.stack, first)),
            ("ready", lambda: self.ready(first)),
            ("every name answers", lambda: self.answers(first)),
            ("applied again: unchanged", lambda: self.unchanged(first)),
            ("another manager stops it", lambda: self.conflict(first)),
            ("a worker crashes under load", lambda: self.crashed(first)),
            ("a model is edited under load", lambda: self.changed(edited.printed())),
            ("a second copy", lambda: self.copied(edited, edited.printed(copies=2))),
        ]
        for name, step in steps:
            if not self._step(name, step):
                return

    def _step(self, name: str, step: Callable[[], object]) -> object:
        """What a step gave, None where it failed; its row says what was seen."""
        self.say(name)
        began = self.clock.now()
        try:
            found = step()
        except KitError as error:
            self.say(f"{error}\n{error.evidence}".rstrip())
            said = "; ".join(str(problem) for problem in error.problems)
            self.rows.append(WalkRow(name, False, self.clock.now() - began, said))
            return None
        said = f"{len(found.objects)} objects, no fault" if isinstance(found, PrintedStack) else str(found)
        self.rows.append(WalkRow(name, True, self.clock.now() - began, said))
        return found

    def _printed(self, stack: CheckStack) -> PrintedStack:
        return stack.printed()

    def reached(self) -> str:
        """The version; and that the namespace is not there, or was made by an earlier walk."""
        version = self.cluster.version()
        there = self.cluster.get("Namespace", "", self.stack.namespace)
        if there and any((there["metadata"].get("labels") or {}).get(k) != v for k, v in self._ours().items()):
            what = f"the namespace {self.stack.namespace} is there, and was not made by this check"
            raise TargetError(Problem(what, "name another with --namespace"))
        return f"Kubernetes {version}"

    def applied(self, printed: PrintedStack) -> str:
        self.made = True
        apply_all(self.cluster, printed.objects)
        gone = prune(self.cluster, self.stack.namespace, self.stack.name, printed.objects)
        return f"{len(printed.objects)} objects" + (f"; removed {named(gone)}" if gone else "")

    def uploaded(self, stack: CheckStack, printed: PrintedStack) -> str:
        return upload_all(self.cluster, stack, printed, self.timeout, self.clock, self.say)

    def ready(self, printed: PrintedStack) -> str:
        took = until_ready(
            self.cluster, self.stack.namespace, self.stack.name, printed.objects, self.timeout, self.clock, self.say
        )
        return f"all of it within {took:.0f} s"

    def answers(self, printed: PrintedStack) -> str:
        with endpoint(self.cluster, printed) as url:
            return verified(url, printed, self.clock, self.settle)

    def unchanged(self, printed: PrintedStack) -> str:
        """Nothing changes when the same is applied again."""
        if different := changed_again(self.cluster, printed.objects):
            raise TargetError(Problem(f"{named(different)} changed, and nothing else did"))
        return f"{len(printed.objects)} objects"

    def conflict(self, printed: PrintedStack) -> str:
        """A field that another manager takes over stops the next apply, and is named; then it is given back."""
        one = next(each for each in printed.objects if each["kind"] == "Deployment")
        theirs = _only(one, {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 99}}}})
        refusal = ""
        try:
            self.cluster.apply(theirs, manager=OTHER_MANAGER)
        except ApplyConflict as error:
            refusal = str(error.problems[0].what)
        if not refusal:
            raise TargetError(Problem(f"{key_of(one)[1]}: a field of ours was taken over without a conflict"))
        label = _only(one, {"metadata": {"labels": {"monogpu.check": "theirs"}}})
        self.cluster.apply(label, manager=OTHER_MANAGER)
        labels = {**one["metadata"]["labels"], "monogpu.check": "ours"}
        ours_too = {**one, "metadata": {**one["metadata"], "labels": labels}}
        try:
            self.cluster.apply(ours_too)
        except ApplyConflict as error:
            self.cluster.apply(_only(one, {}), manager=OTHER_MANAGER)
            return error.problems[0].what
        raise TargetError(Problem(f"{key_of(one)[1]}: a field of {OTHER_MANAGER} was taken over"))

    def crashed(self, printed: PrintedStack) -> str:
        """The last worker's engine is killed: no other name loses a request, and it comes back by itself."""
        victim = printed.workers[-1]
        with endpoint(self.cluster, printed) as url, asking(url, printed.layout.stack.probes) as tallies:
            before = restarts(self.cluster, printed, victim)
            crash(self.cluster, printed, victim, self.clock, self.timeout)
            self.ready(printed)
            again = verified(url, printed, self.clock, self.settle)
        if restarts(self.cluster, printed, victim) <= before:
            raise TargetError(Problem(f"{victim} was killed, and no restart was counted"))
        return _lost(tallies, victim) + f"; {again}"

    def changed(self, printed: PrintedStack) -> str:
        """The last model's new arguments: only its worker is replaced; the router stays."""
        routers = self._pods("router")
        with endpoint(self.cluster, printed) as url, asking(url, printed.layout.stack.probes) as tallies:
            self.applied(printed)
            self.ready(printed)
            again = verified(url, printed, self.clock, self.settle)
        if self._pods("router") != routers:
            raise TargetError(Problem("the router was replaced because a model changed"))
        return _lost(tallies, printed.workers[-1]) + f"; {again}"

    def copied(self, stack: CheckStack, printed: PrintedStack) -> str:
        """Two packed pods instead of the Deployments; what left is removed, volumes stay."""
        volumes = {one["metadata"]["name"] for one in self.cluster.list("PersistentVolumeClaim", stack.namespace)}
        applied = self.applied(printed)
        self.uploaded(stack, printed)
        self.ready(printed)
        left = {one["metadata"]["name"] for one in self.cluster.list("PersistentVolumeClaim", stack.namespace)}
        if not volumes <= left:
            raise TargetError(Problem(f"the volumes {', '.join(sorted(volumes - left))} were removed"))
        with endpoint(self.cluster, printed) as url:
            return f"{applied}; {verified(url, printed, self.clock, self.settle)}"

    def remove(self) -> str:
        """The namespace and everything in it; nothing with our label is left."""
        remove_all(self.cluster, self.stack.namespace, self.stack.name, self.timeout, self.clock)
        return f"the namespace {self.stack.namespace}, and nothing is left in it"

    def _ours(self) -> dict[str, str]:
        return ours(self.stack.name)

    def _pods(self, component: str) -> set[str]:
        found = self.cluster.list("Pod", self.stack.namespace, {**self._ours(), COMPONENT: component})
        return {one["metadata"]["uid"] for one in found if not one["metadata"].get("deletionTimestamp")}


def _only(one: Json, body: Json) -> Json:
    """An object with nothing but its name and `body`, as another manager would apply it."""
    extra = body.get("metadata") or {}
    meta = {"name": one["metadata"]["name"], "namespace": one["metadata"]["namespace"], **extra}
    rest = {key: value for key, value in body.items() if key != "metadata"}
    return {"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": meta, **rest}


def _lost(tallies: Mapping[str, Tally], victim: str) -> str:
    """What every name lost. Raises TargetError where one lost anything that was not touched, or where the one that was
    gave no answer at all."""
    for name, tally in tallies.items():
        if name != victim and (tally.failed or not tally.answered):
            raise TargetError(Problem(f"{name}, which was not touched: {tally}", "; ".join(tally.errors[:2])))
    if victim in tallies and not tallies[victim].answered:
        raise TargetError(Problem(f"{victim} gave no answer: {'; '.join(tallies[victim].errors[:2])}"))
    return "; ".join(f"{name}: {tally}" for name, tally in tallies.items())
