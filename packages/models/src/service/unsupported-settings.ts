/** Settings that a service does not take: each is told of once in the life of a model. */
export class LeftOut {
  readonly #model: string
  readonly #told = new Set<string>()
  #untold: readonly string[] = []

  constructor(model: string) {
    this.#model = model
  }

  /** A request is made without these. `why`: where it depends on something that a person can change. */
  note(settings: readonly string[], why = ''): void {
    const fresh = settings.filter((setting) => !this.#told.has(setting))
    if (fresh.length === 0) return
    for (const setting of fresh) this.#told.add(setting)
    this.#untold = [...this.#untold, `${this.#model} does not take ${fresh.join(', ')}${why}: it was left out.`]
  }

  /** What was not told before, in words for a person. */
  take(): readonly string[] {
    const untold = this.#untold
    this.#untold = []
    return untold
  }
}
