"""Policies for defaults: a policy compares kernels of the samples, chooses, and explains its choice."""

from __future__ import annotations

from typing import Any

from kernelclust.engine import Policy
from kernelclust.kernels import kernel_class
from kernelclust.policies.auto import AutoPolicy

__all__ = ["AutoPolicy", "Policy", "policy_for"]


def policy_for(kernel: Any) -> type[Policy]:
    """Return the policy of a kernel: `AutoPolicy` for "auto", the plain one for a kernel that the user chose."""
    return AutoPolicy if kernel_class(kernel) is kernel_class("auto") else Policy
