/** Whether a sed script only prints, deletes, substitutes and jumps: no command that reads, writes or runs (r, R, w, W, e). */
export function isHarmlessSed(script: string): boolean {
  if (script.length > 2000) return false
  const rest = { text: script }
  for (let steps = 0; steps < 500; steps += 1) {
    rest.text = rest.text.replace(/^[\s;]+/, '')
    if (rest.text === '') return true
    if (!takeAddress(rest)) return false
    if (!takeCommand(rest)) return false
  }
  return false
}

interface Rest {
  text: string
}

function takeAddress(rest: Rest): boolean {
  for (let part = 0; part < 2; part += 1) {
    const number = /^(?:\d+(?:~\d+)?|\$)/.exec(rest.text) ?? (part === 1 ? /^[+~]\d+/.exec(rest.text) : null)
    const delimiter = /^(?:\/|\\([^\n\\a-zA-Z0-9\s[\]]))/.exec(rest.text)
    if (number !== null) rest.text = rest.text.slice(number[0].length)
    else if (delimiter !== null) {
      rest.text = rest.text.slice(delimiter[0].length)
      if (!takeUntil(rest, delimiter[1] ?? '/')) return false
      rest.text = rest.text.replace(/^[IM]*/, '')
    } else if (part === 1) return false
    rest.text = rest.text.replace(/^[ \t]+/, '')
    if (part === 0) {
      if (!rest.text.startsWith(',')) break
      rest.text = rest.text.slice(1).replace(/^[ \t]+/, '')
    }
  }
  rest.text = rest.text.replace(/^!*[ \t]*/, '')
  return true
}

/**
 * Reads up to the delimiter that is not escaped. Implementations disagree about a delimiter inside brackets, and about
 * line ends, so both are rejected.
 */
function takeUntil(rest: Rest, delimiter: string): boolean {
  for (let at = 0; at < rest.text.length; at += 1) {
    const character = rest.text.charAt(at)
    if (character === '\\') at += 1
    else if (character === '\n') return false
    else if (character === delimiter) {
      const taken = rest.text.slice(0, at)
      rest.text = rest.text.slice(at + 1)
      return !readings.some((reading) => endsInBrackets(taken, reading))
    }
  }
  return false
}

/** How an implementation finds the end of a bracket expression. */
interface BracketReading {
  /** `[:` is closed by `:]` and not by a bracket alone. */
  readonly hasClasses: boolean
  /** A bracket after a backslash closes nothing. */
  readonly hasEscapes: boolean
}

const readings: readonly BracketReading[] = [
  { hasClasses: false, hasEscapes: false },
  { hasClasses: true, hasEscapes: false },
  { hasClasses: true, hasEscapes: true },
]

/** Whether the expression ends inside brackets, where BSD sed and busybox read a delimiter as a character. */
function endsInBrackets(text: string, { hasClasses, hasEscapes }: BracketReading): boolean {
  for (let at = 0; at < text.length; at += 1) {
    if (text.charAt(at) === '\\') at += 1
    else if (text.charAt(at) === '[') {
      at += text.charAt(at + 1) === '^' ? 2 : 1
      // A closing bracket at the start of a bracket expression is a character.
      if (text.charAt(at) === ']') at += 1
      for (; text.charAt(at) !== ']'; at += 1) {
        if (at >= text.length) return true
        if (hasEscapes && text.charAt(at) === '\\') at += 1
        else if (hasClasses && /^\[[.:=]/.test(text.slice(at, at + 2))) {
          const end = text.indexOf(`${text.charAt(at + 1)}]`, at + 2)
          if (end === -1) return true
          at = end + 1
        }
      }
    }
  }
  return false
}

function takeCommand(rest: Rest): boolean {
  const command = rest.text.charAt(0)
  rest.text = rest.text.slice(1)
  if (command === '{' || command === '}') return true
  if (command === 's' || command === 'y') {
    const delimiter = rest.text.charAt(0)
    rest.text = rest.text.slice(1)
    if (/[\n\\a-zA-Z0-9\s[\]]/.test(delimiter) || delimiter === '') return false
    if (!takeUntil(rest, delimiter) || !takeUntil(rest, delimiter)) return false
    if (command === 's') rest.text = rest.text.replace(/^[gpiIMm0-9]*/, '')
  } else if (command === 'q' || command === 'Q') rest.text = rest.text.replace(/^[ \t]*\d*/, '')
  else if (!/^[=dDgGhHnNpPxzl]$/.test(command)) return false
  // The next character must begin a new command.
  return /^[ \t]*(?:$|[;\n}])/.test(rest.text)
}
