/** Collects settings that a service does not support; each is reported once per model. */
export class UnsupportedSettings {
  readonly #model: string
  readonly #reported = new Set<string>()
  #unreported: readonly string[] = []

  constructor(model: string) {
    this.#model = model
  }

  /** Notes that a request omits these settings. `why` names a condition that a person can change. */
  note(settings: readonly string[], why = ''): void {
    const added = settings.filter((setting) => !this.#reported.has(setting))
    if (added.length === 0) return
    for (const setting of added) this.#reported.add(setting)
    this.#unreported = [
      ...this.#unreported,
      `${this.#model} does not support ${added.join(', ')}${why}, so this was omitted.`,
    ]
  }

  /** Returns the unreported notices, as text for people. */
  take(): readonly string[] {
    const unreported = this.#unreported
    this.#unreported = []
    return unreported
  }
}
