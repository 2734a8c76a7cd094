"""python -m unwaver: the command line."""

from unwaver.cli.main import main

if __name__ == "__main__":
    main()
