import { matchesWildcard } from '@halting/core/adapters'

/**
 * Whether a command matches the pattern of a `Bash(...)` rule. `npm run test:*` means `npm run test *`. A ` *` at the end is a word boundary: `ls *`
 * matches `ls` and `ls -a`, but not `lsof`.
 */
export function matchesCommand(pattern: string, command: string): boolean {
  const plain = pattern.endsWith(':*') ? `${pattern.slice(0, -2)} *` : pattern
  if (matchesWildcard(plain, command)) return true
  return plain.endsWith(' *') && matchesWildcard(plain.slice(0, -2), command)
}
