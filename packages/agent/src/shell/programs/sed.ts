/** A sed script of commands that print, delete, substitute and move on: none that reads, writes or runs (r, R, w, W, e). */
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
    if (number !== null) rest.text = rest.text.slice(number[0].length)
    else if (/^(?:\/|\\[^\n\\])/.test(rest.text)) {
      const delimiter = rest.text.startsWith('/') ? '/' : rest.text.charAt(1)
      rest.text = rest.text.slice(delimiter === '/' && rest.text.startsWith('/') ? 1 : 2)
      if (!takeUntil(rest, delimiter)) return false
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

/** Up to the delimiter that is not escaped. Implementations do not agree about one inside brackets: refused. */
function takeUntil(rest: Rest, delimiter: string): boolean {
  for (let at = 0; at < rest.text.length; at += 1) {
    const character = rest.text.charAt(at)
    if (character === '\\') at += 1
    else if (character === delimiter) {
      const taken = rest.text.slice(0, at).replaceAll(/\\./gs, '')
      rest.text = rest.text.slice(at + 1)
      return (taken.match(/\[/g) ?? []).length === (taken.match(/\]/g) ?? []).length
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
    if (/[\n\\a-zA-Z0-9\s]/.test(delimiter) || delimiter === '') return false
    if (!takeUntil(rest, delimiter) || !takeUntil(rest, delimiter)) return false
    if (command === 's') rest.text = rest.text.replace(/^[gpiIMm0-9]*/, '')
  } else if (command === 'q' || command === 'Q') rest.text = rest.text.replace(/^[ \t]*\d*/, '')
  else if (!/^[=dDgGhHnNpPxzl]$/.test(command)) return false
  // What comes next must begin a new command.
  return /^[ \t]*(?:$|[;\n}])/.test(rest.text)
}
