/** The person pressed Ctrl+C at a question: nothing more is done. The exit code is that of an interrupted program (130). */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError'
  constructor() {
    super('Interrupted by Ctrl+C.')
  }
}
