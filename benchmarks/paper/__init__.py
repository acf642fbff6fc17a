"""The experiments of [W20]: every method on every task, side by side with the paper's own figures."""
