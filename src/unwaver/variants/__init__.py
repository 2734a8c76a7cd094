"""Items to groups, one idea each. The functions here are shared by suites and builders."""
