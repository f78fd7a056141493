import { oneLine } from '../../io/figures.ts'
import type { AskedService } from '../app/service-models.ts'
import type { AppContext } from '../app/context.ts'
import type { Choice } from '../pickers/pick-list.ts'

interface Models {
  /** Those of the session come first. */
  readonly models: readonly string[]
  readonly model: string
}

/**
 * Shows the models of the session at once, and those of each service as it answers. A service that gives none is named with the reason
 * (spec R-TERM-90). Undefined where none was chosen.
 */
export function chooseModel(
  app: Pick<AppContext, 'ask' | 'changed'>,
  { models, model }: Models,
  asked: readonly AskedService[],
): Promise<string | undefined> {
  const rows: Choice<string>[] = models.map((name) => ({
    value: name,
    label: name,
    ...(name === model && { detail: 'now' }),
  }))
  const known = new Set(models)
  const waiting = new Set(asked.map(({ service }) => service))
  const reasons: string[] = []
  for (const { service, answer } of asked) {
    void answer.then((listed) => {
      waiting.delete(service)
      if (listed.kind === 'none') reasons.push(`${service}: ${oneLine(listed.why, 300)}`)
      if (listed.kind === 'models') {
        // Rows are added at the end: the chosen one stays where it is.
        for (const name of listed.names) if (!known.has(name)) rows.push({ value: name, label: name, detail: service })
        for (const name of listed.names) known.add(name)
        if (listed.names.length === 0) reasons.push(`${service}: lists no text model`)
      }
      app.changed()
    })
  }
  return app.ask({
    title: 'Model',
    hint: 'Enter choose · type to filter · Esc cancel · /model NAME sets any other',
    first: Math.max(0, models.indexOf(model)),
    choices: () => rows,
    notes: () => [...reasons, ...(waiting.size === 0 ? [] : [`loading the models of ${[...waiting].join(', ')} …`])],
  })
}
