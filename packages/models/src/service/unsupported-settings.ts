/** Settings that a service does not take: each is told of once in the life of a model. */
export class UnsupportedSettings {
  readonly #model: string
  readonly #reported = new Set<string>()
  #unreported: readonly string[] = []

  constructor(model: string) {
    this.#model = model
  }

  /** A request is made without these. `why`: where it depends on something that a person can change. */
  note(settings: readonly string[], why = ''): void {
    const added = settings.filter((setting) => !this.#reported.has(setting))
    if (added.length === 0) return
    for (const setting of added) this.#reported.add(setting)
    this.#unreported = [...this.#unreported, `${this.#model} does not take ${added.join(', ')}${why}: it was left out.`]
  }

  /** What was not told before, in words for a person. */
  take(): readonly string[] {
    const unreported = this.#unreported
    this.#unreported = []
    return unreported
  }
}
