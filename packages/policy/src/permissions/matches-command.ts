import { matchesWildcard } from '@halting/core/adapters'

/**
 * Whether a command fits the pattern of a `Bash(...)` rule: `npm run test:*` is `npm run test *`, and a ` *` at the end is
 * a word boundary, so that `ls *` fits `ls` and `ls -a` and not `lsof`.
 */
export function matchesCommand(pattern: string, command: string): boolean {
  const plain = pattern.endsWith(':*') ? `${pattern.slice(0, -2)} *` : pattern
  if (matchesWildcard(plain, command)) return true
  return plain.endsWith(' *') && matchesWildcard(plain.slice(0, -2), command)
}
