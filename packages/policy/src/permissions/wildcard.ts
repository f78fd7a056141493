/**
 * Whether a text fits a pattern in which `*` stands for any characters, spaces and line ends too. Takes time in proportion
 * to the text for each part of the pattern: the text comes from a model and must not be able to make it slow.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false
  let at = first.length
  const end = text.length - last.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

/**
 * Whether a command fits the pattern of a `Bash(...)` rule: `npm run test:*` is `npm run test *`, and a ` *` at the end is
 * a word boundary, so that `ls *` fits `ls` and `ls -a` and not `lsof`.
 */
export function matchesCommand(pattern: string, command: string): boolean {
  const plain = pattern.endsWith(':*') ? `${pattern.slice(0, -2)} *` : pattern
  if (matchesWildcard(plain, command)) return true
  return plain.endsWith(' *') && matchesWildcard(plain.slice(0, -2), command)
}
