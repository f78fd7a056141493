import type { Explanation } from '@halting/policy'

const verdicts = { allow: 'Allowed', ask: 'Asks for approval', deny: 'Not allowed' }

/** The verdict on a command, followed by its message. Messages of permission requests start in lower case, those of denials in upper case. */
export function verdictText({ behavior, message, mode }: Pick<Explanation, 'behavior' | 'message' | 'mode'>): string {
  const end = behavior === 'ask' && message !== undefined ? ':' : '.'
  return `${verdicts[behavior]}${mode === 'default' ? '' : ` (${mode})`}${end}`
}
