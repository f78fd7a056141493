const maxWords = 100
/** Maximum length of a text that is expanded: each pair of braces scans the rest of the text again. */
const longest = 2000

/**
 * The results of brace expansion in order, as in bash. Undefined if there are too many, or for a form that is not supported here (letters, steps,
 * leading zeros, unpaired braces). For text without quotes and expansions.
 */
export function bracesOf(text: string): readonly string[] | undefined {
  if (text.length > longest || !/^[\w./,{}@%+:=~*?-]*$/.test(text)) return undefined
  const open = text.indexOf('{')
  if (open === -1) return text.includes('}') ? undefined : [text]
  const close = closingOf(text, open)
  if (close === undefined) return undefined
  const inside = choicesOf(text.slice(open + 1, close))
  const after = inside === undefined ? undefined : bracesOf(text.slice(close + 1))
  if (inside === undefined || after === undefined) return undefined
  const all = inside.flatMap((choice) => after.map((rest) => text.slice(0, open) + choice + rest))
  return all.length > maxWords ? undefined : all
}

function closingOf(text: string, open: number): number | undefined {
  let depth = 0
  for (let at = open; at < text.length; at += 1) {
    if (text.charAt(at) === '{') depth += 1
    else if (text.charAt(at) === '}' && (depth -= 1) === 0) return at
  }
  return undefined
}

function choicesOf(inside: string): readonly string[] | undefined {
  const sequence = /^(0|[1-9]\d{0,8})\.\.(0|[1-9]\d{0,8})$/.exec(inside)
  if (sequence !== null) {
    const [from, to] = [Number(sequence[1]), Number(sequence[2])]
    const count = Math.abs(to - from) + 1
    return count > maxWords
      ? undefined
      : Array.from({ length: count }, (_, at) => String(from < to ? from + at : from - at))
  }
  const parts: string[] = ['']
  let depth = 0
  for (const character of inside) {
    if (character === '{') depth += 1
    if (character === '}') depth -= 1
    if (character === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += character
  }
  // A pair without a comma remains unchanged, or has a form that is not supported here.
  if (parts.length === 1) return undefined
  const all = parts.map(bracesOf)
  return all.includes(undefined) ? undefined : all.flatMap((part) => part ?? [])
}
