/**
 * Whether an awk program runs no command, opens no file except its operands, and reads no environment. This check does
 * not distinguish strings from code: `>` counts as a redirect unless it can only be a comparison.
 */
export function isHarmlessAwk(program: string): boolean {
  if (program.length > 5000) return false
  if (
    /\b(?:system|getline|ENVIRON|ARGV|ARGC|PROCINFO|SYMTAB|FUNCTAB|close|fflush|nextfile|extension)\b|@|\\\n/.test(
      program,
    )
  )
    return false
  const plain = program.replaceAll('||', '  ').replaceAll('>=', '  ')
  if (plain.includes('|')) return false
  if (!plain.includes('>')) return true
  // Quotes and slashes may contain braces, so that the actions cannot be located. In a program without slashes, strings can be recognized.
  if (/[/\\#]/.test(plain)) return false
  const bare = plain.replaceAll(/"[^"\n]*"/g, ' s ')
  if (bare.includes('"')) return false
  let [braces, parentheses] = [0, 0]
  for (let at = 0; at < bare.length; at += 1) {
    const character = bare.charAt(at)
    // `for (;; print x > "file")`: even in parentheses, `>` is a redirect after print.
    if (parentheses > 0 && /^printf?\b/.test(bare.slice(at, at + 7))) return false
    if (character === '{') braces += 1
    else if (character === '}') braces -= 1
    else if (character === '(') parentheses += 1
    else if (character === ')') parentheses -= 1
    else if (character === '>' && braces > 0 && parentheses === 0) return false
    if (braces < 0 || parentheses < 0) return false
  }
  return true
}
