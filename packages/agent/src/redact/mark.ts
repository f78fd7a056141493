/** What takes the place of a secret. */
export const redactedMark = '[REDACTED]'
