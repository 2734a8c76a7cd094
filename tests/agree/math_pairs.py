"""Pairs of mathematical answers of which it is known whether they are equal: by construction, or written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random

Known = tuple[str, str, bool]


def fractions() -> Iterator[Known]:
    """A fraction in two notations; the same with another numerator."""
    random = Random(1)
    forms = (
        lambda f: f"{f.numerator}/{f.denominator}",
        lambda f: rf"\frac{{{f.numerator}}}{{{f.denominator}}}",
        lambda f: rf"$\dfrac{{{f.numerator}}}{{{f.denominator}}}$",
        lambda f: rf"\boxed{{\frac{{{f.numerator}}}{{{f.denominator}}}}}",
        lambda f: f"The answer is {f.numerator}/{f.denominator}.",
        lambda f: rf"x = \frac{{{f.numerator}}}{{{f.denominator}}}",
    )
    for _ in range(45):
        value = Fraction(random.randint(1, 60), random.choice([3, 7, 9, 11, 13, 17]))
        if value.denominator == 1:
            continue
        one, other = random.sample(forms, 2)
        yield one(value), other(value), True
        near = Fraction(value.numerator + value.denominator, value.denominator)
        yield one(value), other(near), False


def decimals() -> Iterator[Known]:
    random = Random(2)
    for _ in range(40):
        value = Fraction(random.randint(1, 999), random.choice([4, 5, 8, 16, 20, 25, 50]))
        if value.denominator == 1:
            continue
        written = f"{float(value)}"
        share = rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
        yield written, random.choice([share, f"{value.numerator}/{value.denominator}", written + "0"]), True
        yield (
            written,
            random.choice([share + "1", f"-{written}", f"{float(value) + 0.01:.6f}", "1" + written]),
            False,
        )


def percents() -> Iterator[Known]:
    random = Random(3)
    for _ in range(20):
        n = random.randint(1, 99)
        yield f"{n}%", random.choice([f"{n / 100}", rf"{n}\%", f"{n} percent", rf"\frac{{{n}}}{{100}}"]), True
        yield f"{n}%", random.choice([f"{n + 1}%", f"{n / 1000}", f"{n / 10}", f"{n}.5%"]), False


def thousands() -> Iterator[Known]:
    random = Random(4)
    for _ in range(25):
        n = random.randint(1_001, 9_999_999)
        forms = [f"{n:,}", f"{n}", f"{n}.0", f"{n:,}.00", f"{n:,}".replace(",", r"{,}"), f"It is {n:,}."]
        yield *random.sample(forms, 2), True
        yield (
            random.choice(forms),
            random.choice([f"{n + 1:,}", f"{n}0", f"{n / 1000}", f"-{n}", f"{n % 1000}"]),
            False,
        )


def powers() -> Iterator[Known]:
    random = Random(5)
    for _ in range(20):
        n, power = random.randint(2, 99), random.randint(2, 9)
        forms = [f"{n}e{power}", rf"{n} \times 10^{{{power}}}", f"{n}×10^{power}", str(n * 10**power)]
        yield *random.sample(forms, 2), True
        yield (
            random.choice(forms),
            random.choice([f"{n}e{power + 1}", rf"{n} \times 10^{{-{power}}}", str(n), "10"]),
            False,
        )


def mixed_numbers() -> Iterator[Known]:
    random = Random(6)
    for _ in range(15):
        whole, of = random.randint(1, 9), random.choice([2, 4, 5, 8])
        part = of - 1
        yield f"{whole} {part}/{of}", f"{whole + part / of}", True
        yield rf"{whole}\frac{{{part}}}{{{of}}}", f"{whole * of + part}/{of}", True
        yield rf"{whole}\frac{{{part}}}{{{of}}}", f"{whole}{part}/{of}", False
        yield rf"{whole}\frac{{{part}}}{{{of}}}", rf"\frac{{{part}}}{{{of}}}", False


def expressions() -> Iterator[Known]:
    random = Random(7)
    for _ in range(20):
        a, b = random.randint(2, 9), random.randint(2, 9)
        yield rf"{a}\sqrt{{{b}}}", rf"\sqrt{{{a * a * b}}}", True
        yield rf"{a}\sqrt{{{b}}}", rf"\sqrt{{{a * b}}}" if a > 1 else "0", False
        yield f"{a}x + {b}", f"{b} + {a}x", True
        yield f"{a}x + {b}", f"{a}x - {b}", False
        yield rf"\frac{{{a}\pi}}{{{b}}}", rf"{a}\pi/{b}", True
        yield rf"\frac{{{a}\pi}}{{{b}}}", f"{b}", False


HAND = r"""
same | \frac12 | 0.5
same | \frac{1}{2} | \frac{2}{4}
diff | \frac{1}{2} | \frac{3}{2}
diff | \frac{1}{2} | 2
diff | \frac{1}{2} | 1
diff | \sqrt{2} | 2
diff | \sqrt{2} | 1.414
diff | \sqrt{2} | 1.41421356
diff | 2\pi | 2
diff | \pi | 3.14
diff | \pi | 3.14159265358979
diff | \pi | \frac{22}{7}
diff | 1/3 | 0.333
diff | 1/3 | 0.333333
diff | 1/3 | 0.3333333333333333
diff | 2/3 | 0.67
diff | 2/3 | 0.6666667
diff | x^2 | 2
diff | 2x | 2
diff | x^2 | x
same | x^2 - 1 | (x-1)(x+1)
same | (x+1)^2 | x^2 + 2x + 1
diff | (x+1)^2 | x^2 + 1
diff | \sqrt{x^2} | x
same | 2^{10} | 1024
same | 2^10 | 1024
diff | 2^{10} | 10
diff | 2^{10} | 20
diff | 5! | 5
same | 5! | 120
diff | -5 | 5
same | −5 | -5
diff | |-5| | -5
same | minus five | -5
same | twenty-five | 25
diff | twenty-five | 20
diff | two thirds | 2
diff | one half | 1
diff | half | 1
diff | two thirds | 3
same | 5 km | 5000 m
diff | 5 km | 5 m
diff | 5 kg | 5 km
diff | 5 cm | 5 m
same | 5 cm | 0.05 m
same | 2 hours | 120 minutes
diff | 2 hours | 2 minutes
diff | 3 m | 3 m^2
diff | 3 m^2 | 3 m^3
same | 3 m² | 3 m^2
same | 3 square meters | 3 m^2
diff | 3 square meters | 3 meters
diff | 30° | 30 rad
diff | $5 | €5
same | $5 | 5 dollars
same | \$5 | $5.00
diff | $5 | $50
diff | $2M | $2
same | $2M | $2,000,000
diff | 2M | 2
diff | 5k | 5
same | 2 million | 2,000,000
diff | 2 million | 2
diff | 12 apples | 12 oranges
same | 12 apples | 12 apples
same | 2 dozen | 24
diff | 2 dozen | 2
diff | (1, 2) | [1, 2]
diff | (1, 2) | [1, 2)
diff | [1, 2] | \{1, 2\}
diff | (1, 2) | \{1, 2\}
diff | (1, 2) | (2, 1)
diff | (1, 2) | 2
diff | (1, 2) | (3, 2)
diff | (1, 2) | 12
same | [1, 2] | [1,2]
same | \left(1, 2\right) | (1,2)
same | (0.5, 2) | (\frac{1}{2}, 2)
diff | (0.5, 2) | (\frac{1}{3}, 2)
same | \{1, 2\} | \{2, 1\}
diff | \{1, 2\} | \{1, 3\}
diff | \{1, 2\} | \{1, 2, 3\}
same | \{1, 2, 3\} | \{3, 2, 1\}
diff | \{0.333333, 2\} | \{\frac{1}{3}, 2\}
same | (-\infty, 2) | (-\infty,2)
diff | (-\infty, 2) | (-\infty, 2]
diff | (-\infty, 2) | (2, \infty)
same | x > 2 | 2 < x
diff | x > 2 | x < 2
diff | x > 2 | x \ge 2
diff | x > 2 | 2
diff | x < 5 | x < 6
same | x \le 3 | 3 \ge x
diff | x > 2 | x > 3
same | x = 5 | 5
same | x=5 | x = 5.0
diff | x = 5 | y = 5
diff | x = 5 | x = 6
same | 2x = 10 | x = 5
diff | 2x = 10 | 10
diff | 2x = 10 | x = 10
diff | x^2 = 4 | x = 2
diff | x^2 = -1 | x^2 = -4
diff | x^2 + 1 = 0 | x^2 + 4 = 0
same | y = 2x + 1 | y = 1 + 2x
diff | y = 2x + 1 | y = 2x - 1
diff | y = 2x + 1 | x = 2y + 1
diff | x + y = 1 | x + y = 2
diff | x = 3, y = 4 | x = 5, y = 4
diff | x = 3, y = 4 | 4
diff | x = 1 or x = 2 | 2
diff | 1 or 2 | 2
diff | 1, 2 | 2
diff | between 3 and 5 | 5
diff | at least 5 | 5
diff | at most 5 | 5
diff | less than 5 | 5
diff | more than 5 | 5
diff | not 5 | 5
diff | It isn't 5. | 5
diff | 5 ± 0.1 | 0.1
diff | 5 ± 0.1 | 5
diff | 3 to 7 | 7
diff | 3-7 | 7
diff | 3:4 | 4
diff | 3:4 | 5:4
diff | 10:30 | 30
diff | 2020-05-17 | 17
diff | 3+4i | 5+4i
diff | 4i | 4
same | 3+4i | 4i + 3
diff | 3 + 4 | 4
same | 3 + 4 | 7
same | 3 + 4 = 7 | 7
same | 3 * 4 = 12 | 12
diff | 3 * 4 = 12 | 4
diff | 3,14 | 14
diff | 3,14 | 2,14
diff | log 5 | 5
diff | \log 5 | 5
diff | \sin 30 | 30
same | \sin(0) | 0
same | \cos(0) | 1
diff | \sin x | \cos x
same | \sin^2 x + \cos^2 x | 1
diff | e^2 | 2
same | e^{2} \cdot e | e^{3}
same | \log_2 8 | 3
diff | \log_2 8 | 8
diff | f(5) | 5
diff | 5th | 5
diff | 5 squared | 5
diff | square root of 5 | 5
diff | 1 mod 5 | 5
diff | 5/x | 5
diff | x/5 | 5
same | \frac{x}{5} | x/5
diff | \frac{x}{5} | \frac{5}{x}
diff | \frac{1}{\sqrt{2}} | \frac{1}{2}
same | \frac{1}{\sqrt{2}} | \frac{\sqrt{2}}{2}
same | 50% | 0.5
same | 50\% | \frac{1}{2}
diff | 50% | 5
diff | 0.5% | 0.5
diff | 0.5% | 50%
diff | 50% | 50
same | 1e3 | 1000
diff | 1e3 | 3
diff | 1e-3 | 1000
same | 1.50 | 1.5
same | .5 | 0.5
same | 007 | 7
diff | 1.005 | 1.0050001
diff | 12345678901234567890 | 12345678901234567891
diff | 0.1234567890123456789012345678901234567890123456789012 | 0.1234567890123456789012345678901234567890123456789013
same | ½ | 0.5
same | 1½ | 3/2
diff | 1½ | 1/2
same | The answer is **42**. | 42
same | So the total is 42 dollars. | $42
same | #### 42 | The answer is 42
same | \boxed{42} | 42
diff | \boxed{42} of 50 | 50
diff | The answer is 5, not 7. | 7
diff | I got 7 at first, but the answer is 5. | 7
same | I got 7 at first, but the answer is 5. | 5
diff | It is 5 (see page 7). | 7
diff | The answer is 8 because 3 + 2 = 5 | 5
diff | Paris | Rome
diff | no idea | no idea at all
same | $\frac{\pi}{2}$ | \pi/2
same | \frac{\pi}{2} | 0.5\pi
diff | \frac{\pi}{2} | 90
diff | 90^\circ | \frac{\pi}{2} + 1
same | 90^\circ | 90 degrees
diff | 90^\circ | 45 degrees
same | a^2 + b^2 | b^2 + a^2
diff | a^2 + b^2 | (a+b)^2
diff | ab | a + b
same | ab | ba
diff | xy | x + y
same | x(y+z) | xy + xz
diff | n(n+1)/2 | n^2/2
same | \frac{n(n+1)}{2} | \frac{n^2 + n}{2}
diff | 10_2 | 10
diff | 1010_2 | 10
diff | x_1 | 1
diff | 0.\overline{3} | 0.3
diff | 0.333... | 0.333
diff | infinity | 1
diff | \infty | -\infty
diff | +5 | -5
same | +5 | 5
diff | (5) | -5
diff | $3 million | $3
same | 7.0 | 7
diff | 7.0 | 70
diff | 7,000 | 7
diff | 7.000 | 7,000
diff | two hundred | 2
same | two hundred | 200
diff | 1 1/2 | 11/2
same | 1 1/2 | 1.5
same | -\frac{1}{2} | \frac{-1}{2}
same | -\frac{1}{2} | \frac{1}{-2}
diff | -\frac{1}{2} | \frac{1}{2}
same | \frac{3}{4} | \dfrac{3}{4}
same | \tfrac34 | 0.75
diff | \tfrac34 | 34
diff | \frac{10}{3} | 3.33
same | 3\cdot 4 | 12
diff | 3\cdot 4 | 34
diff | 3\cdot x | 3x + 1
same | 3 \cdot x | 3x
same | \sqrt{16} | 4
same | \sqrt[3]{27} | 3
diff | \sqrt[3]{27} | 27
same | sqrt(2)/2 | \frac{\sqrt{2}}{2}
same | √2 | \sqrt{2}
diff | √2 | 2
diff | 2√3 | 3√2
same | 2√3 | \sqrt{12}
same | π | \pi
diff | 2π | 2
same | 2π | 2\pi
same | x ≥ 3 | x \ge 3
diff | x ≥ 3 | x ≤ 3
diff | x ≠ 3 | x = 3
diff | 5 m/s | 5 km/h
same | 36 km/h | 10 m/s
diff | 20 °C | 20 °F
diff | 1 GB | 1 MB
same | 1 GB | 1000 MB
diff | 3 cups of 4 | 4
diff | 4 out of 5 | 5
diff | 1 in 5 | 5
diff | A | a
diff | 3x | 3X
diff | \log 5 | \ln 5
diff | [5] | 5
diff | \{5\} | 5
diff | (1,234) | 1234
diff | (1,234) | (1234, 0)
diff | increase of 3 | decrease of 3
diff | profit of $5 | loss of $5
diff | 3 a day | 3 a week
diff | 3 points ahead | 3 points behind
diff | May 2 | 2
diff | room 101 | 101
diff | 2^3^2 | 64
diff | 1/2x | \frac{1}{2x + 1}
diff | x_1 | x_2
diff | \sin x^2 | \sin^2 x
diff | 10^{-50} | 0
diff | 0.9999999999999999999 | 1
diff | (x-2)^2 = 0 | x(x-2) = 0
diff | f(x) = x^2 | g(x) = x^2
diff | 1, 2 | 1, 3
diff | 1, 2 | \{1, 3\}
diff | x > 1 | y > 1
diff | x \ge 1 | (1, \infty)
same | x > 1 | (1, \infty)
same | (-\infty, 1) \cup (2, \infty) | (2, \infty) \cup (-\infty, 1)
diff | (-\infty, 1) \cup (2, \infty) | (-\infty, 1)
diff | \sqrt{2} + \sqrt{3} | \sqrt{5}
same | \sqrt{2}\sqrt{3} | \sqrt{6}
diff | (a+b)^3 | a^3 + b^3
diff | 2x + 3y | 3x + 2y
diff | 2 + 3i | 3 + 2i
diff | 2 + 3i | 2 - 3i
diff | \emptyset | 0
same | 8^{1/3} | 2
same | |x| | \sqrt{x^2}
diff | 5 am | 5 pm
diff | 5 GB | 5 MB
diff | 60 mph | 60 km/h
"""


def by_hand() -> Iterator[Known]:
    for line in HAND.strip().splitlines():
        told, one, other = (part.strip() for part in _parts(line))
        yield one, other, told == "same"


def _parts(line: str) -> list[str]:
    """Three parts: a bar inside an answer has no spaces on both sides."""
    return line.split(" | ")


def pairs() -> list[Known]:
    made = (fractions, decimals, percents, thousands, powers, mixed_numbers, expressions, by_hand)
    return [pair for make in made for pair in make()]
