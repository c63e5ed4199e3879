"""QoS classes and priority bands of pods.

*Raw* is what labels and the numeric priority say; *effective* fills what they leave open from the
Kubernetes QoS class.
"""

import re
from enum import Enum

from koordopt.models.api.core import Pod
from koordopt.models.api.keys import LABEL_PRIORITY_CLASS, LABEL_QOS_CLASS, LABEL_SUB_PRIORITY
from koordopt.models.api.requests import kubernetes_qos


class QosClass(Enum):
    """Quality of service; the value is the label's."""

    LSE = "LSE"
    LSR = "LSR"
    LS = "LS"
    BE = "BE"
    SYSTEM = "SYSTEM"
    NONE = ""


class PriorityBand(Enum):
    """A band of priorities; the value is the label's."""

    PROD = "koord-prod"
    MID = "koord-mid"
    BATCH = "koord-batch"
    FREE = "koord-free"
    NONE = ""

    @property
    def default_priority(self) -> int:
        """The priority of a pod in this band that states none."""
        return _DEFAULT_PRIORITY[self]


_DEFAULT_PRIORITY = {
    PriorityBand.PROD: 9500,
    PriorityBand.MID: 7500,
    PriorityBand.BATCH: 5500,
    PriorityBand.FREE: 3500,
    PriorityBand.NONE: 0,
}
# A band is the thousand that a priority lies in.
_BAND_OF_THOUSAND = {
    9: PriorityBand.PROD,
    7: PriorityBand.MID,
    5: PriorityBand.BATCH,
    3: PriorityBand.FREE,
}
_QOS_OF_LABEL = {qos.value: qos for qos in QosClass}
_BAND_OF_LABEL = {band.value: band for band in PriorityBand}
_QOS_OF_KUBERNETES = {
    "Guaranteed": QosClass.LSR,
    "Burstable": QosClass.LS,
    "BestEffort": QosClass.BE,
}
_INTEGER = re.compile(
    r"(?P<sign>[+-]?)(?:0[xX]_?(?P<hex>[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)"
    r"|0[bB]_?(?P<bin>[01]+(?:_[01]+)*)"
    r"|0(?:[oO]_?|_)?(?P<oct>[0-7]+(?:_[0-7]+)*)"
    r"|(?P<dec>0|[1-9][0-9]*(?:_[0-9]+)*))"
)
_BASE_OF_GROUP = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}


def raw_qos(pod: Pod) -> QosClass:
    """Return the QoS class that the label states; any other value counts as none."""
    label = pod.metadata.labels.get(LABEL_QOS_CLASS, "")
    return _QOS_OF_LABEL.get(label, QosClass.NONE)


def qos_of(pod: Pod) -> QosClass:
    """Return the effective QoS class: the label's, else the one of the Kubernetes QoS class."""
    qos = raw_qos(pod)
    if qos is not QosClass.NONE:
        return qos
    return _QOS_OF_KUBERNETES.get(effective_kubernetes_qos(pod), QosClass.NONE)


def effective_kubernetes_qos(pod: Pod) -> str:
    """Return the Kubernetes QoS class: the status has it, else it follows from the spec."""
    return pod.status.qos_class or kubernetes_qos(pod)


def raw_band(pod: Pod) -> PriorityBand:
    """Return the priority band by label, else by number.

    Where the label is present the number is not consulted, even if the label's value is unknown.
    """
    label = pod.metadata.labels.get(LABEL_PRIORITY_CLASS)
    if label is not None:
        return _BAND_OF_LABEL.get(label, PriorityBand.NONE)
    return band_of_priority(pod.spec.priority)


def band_of_priority(priority: int | None) -> PriorityBand:
    """Return the band that a numeric priority lies in."""
    if priority is None:
        return PriorityBand.NONE
    return _BAND_OF_THOUSAND.get(priority // 1000, PriorityBand.NONE)


def band_of(pod: Pod) -> PriorityBand:
    """Return the effective priority band: the raw one, else the one that suits the QoS class."""
    band = raw_band(pod)
    if band is not PriorityBand.NONE:
        return band
    qos = qos_of(pod)
    if qos is QosClass.NONE:
        return PriorityBand.NONE
    return PriorityBand.BATCH if qos is QosClass.BE else PriorityBand.PROD


def priority_of(pod: Pod) -> int:
    """Return the effective priority: ``spec.priority`` if not zero, else the band's default."""
    return pod.spec.priority or band_of(pod).default_priority


def parse_sub_priority(text: str) -> int | None:
    """Return the 32-bit integer of a sub-priority label, or None if it is none.

    Decimal, hexadecimal (``0x``), octal (``0`` or ``0o``) and binary (``0b``), with underscores
    between digits.
    """
    match = _INTEGER.fullmatch(text) if len(text) <= 64 else None
    if match is None or match.lastgroup is None:
        return None
    digits = match["sign"] + match[match.lastgroup].replace("_", "")
    number = int(digits, _BASE_OF_GROUP[match.lastgroup])
    return number if -(2**31) <= number < 2**31 else None


def sub_priority(pod: Pod) -> int:
    """Return the sub-priority of a pod, by which equals are told apart; 0 if missing or invalid."""
    return parse_sub_priority(pod.metadata.labels.get(LABEL_SUB_PRIORITY, "")) or 0
