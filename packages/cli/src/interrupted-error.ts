/** The user pressed Ctrl+C at a question. The program exits with 130, the code of an interrupted program. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError'
  constructor() {
    super('Interrupted by Ctrl+C.')
  }
}
