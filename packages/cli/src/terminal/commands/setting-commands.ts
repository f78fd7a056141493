import { oneLine } from '../../io/figures.ts'
import { themeNamed } from '../theme.ts'
import { limitsToSet, parseLimitsArgument } from '../../frontends/limits-argument.ts'
import { retryServices } from '../../frontends/wait-text.ts'
import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { checkMode } from '../../frontends/check-mode.ts'
import { UsageError } from '../../usage-error.ts'
import { modeWords } from '../../frontends/mode-words.ts'
import { nearest } from '../../flags/nearest.ts'
import type { ServiceQuery } from '../app/service-models.ts'
import type { Choice } from '../pickers/pick-list.ts'

const model: Command = {
  description: 'Choose the model, from the next request on',
  argumentHint: '[NAME]',
  values: (app) => app.open?.session.snapshot.models ?? [],
  async run(app, argument) {
    const session = app.open?.session
    if (session === undefined) return
    const chosen = argument !== '' ? argument : await pickModel(app, session.snapshot)
    if (chosen === undefined) return
    session.set({ model: chosen })
    app.note(`Model: ${chosen}`)
  },
}

const retry: Command = {
  description: 'Retry now instead of waiting for a service',
  run(app) {
    const session = app.open?.session
    if (session !== undefined) app.note(retryServices(session))
  },
}

/** Lets the person choose and set another model. False if none was chosen. */
export async function setAnotherModel(app: AppContext): Promise<boolean> {
  const session = app.open?.session
  if (session === undefined) return false
  const chosen = await pickModel(app, session.snapshot)
  if (chosen === undefined) return false
  session.set({ model: chosen })
  app.note(`Model: ${chosen}`)
  return true
}

/** Not offered with a script, which defines its own models, and on a cluster, where the worker defines the models. */
async function pickModel(app: AppContext, snapshot: Parameters<typeof chooseModel>[1]): Promise<string | undefined> {
  const services = app.flags.script === undefined ? ((await app.open?.local?.askServices()) ?? []) : []
  return chooseModel(app, snapshot, services)
}

/** The modes that a key cycles through. Others must be chosen by name, so that nobody enters them by accident. */
const cycledModes = ['default', 'acceptEdits', 'plan']

const mode: Command = {
  description: 'Choose the permission mode',
  argumentHint: '[NAME]',
  values: (app) => app.open?.session.snapshot.permissionModes ?? [],
  async run(app, argument) {
    const session = app.open?.session
    if (session === undefined) return
    const { permissionMode: now, permissionModes: modes } = session.snapshot
    if (argument === 'next') {
      const available = cycledModes.filter((name) => modes.includes(name))
      const next = available[(available.indexOf(now) + 1) % available.length]
      if (next !== undefined) session.set({ permissionMode: next })
      return
    }
    checkMode(argument, session.snapshot)
    if (argument !== '' && !modes.includes(argument)) {
      const suggestion = nearest(argument, modes)
      throw new UsageError(
        `Unknown mode ${argument}${suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`}. Modes: ${modes.join(', ')}.`,
      )
    }
    const chosen =
      argument !== ''
        ? argument
        : await app.ask({
            title: 'Permission mode',
            hint: 'Enter choose · Esc cancel · outside this list, Shift+Tab switches the mode',
            first: Math.max(0, modes.indexOf(now)),
            choices: modes.map((name) => ({ value: name, label: name, detail: modeWords(name).description })),
          })
    if (chosen === undefined) return
    session.set({ permissionMode: chosen })
    app.note(`Permission mode: ${chosen}`)
  },
}

const theme: Command = {
  description: 'Choose and save the colours: dark, light or none',
  argumentHint: '[dark|light|none]',
  values: (app) => app.theme.names,
  async run(app, argument) {
    const { names, current } = app.theme
    const named = themeNamed(argument)
    if (argument !== '' && named === undefined)
      throw new UsageError(`Unknown theme ${oneLine(argument, 40)}. Themes: ${names.join(', ')}.`)
    const chosen =
      named ??
      (await app.ask({
        title: 'Theme',
        hint: 'Enter choose and save · Esc cancel',
        first: names.indexOf(current),
        choices: names.map((name) => ({ value: name, label: name, ...(name === current && { detail: 'now' }) })),
      }))
    if (chosen === undefined) return
    app.theme.choose(chosen)
    app.screen.redraw()
    const { saveTheme: keepTheme } = await import('./save-theme.ts')
    const path = await keepTheme(chosen, app.program)
    app.note(`Theme: ${chosen} (saved as theme in ${path}).`)
  },
}

/** `/limits turns 60`: sets a limit. */
export function setLimits(app: Parameters<Command['run']>[0], argument: string): void {
  const session = app.open?.session
  if (session === undefined) return
  const read = parseLimitsArgument(argument, limitsToSet(session.snapshot))
  if (read.kind === 'wrong') throw new UsageError(read.says)
  session.set({ limits: read.change })
  app.note(`From now on: ${read.says}`)
}

export const settingCommands: { readonly [name in 'retry' | 'model' | 'mode' | 'theme']: Command } = {
  retry,
  model,
  mode,
  theme,
}

interface Models {
  /** The models of the session, which are listed first. */
  readonly models: readonly string[]
  readonly model: string
}

/**
 * Lists the models of the session immediately, and those of each service as it answers. A service without models is listed with the reason
 * (spec R-TERM-90). Undefined if none was chosen.
 */
export function chooseModel(
  app: Pick<AppContext, 'ask' | 'changed'>,
  { models, model }: Models,
  services: readonly ServiceQuery[],
): Promise<string | undefined> {
  const rows: Choice<string>[] = models.map((name) => ({
    value: name,
    label: name,
    ...(name === model && { detail: 'now' }),
  }))
  const known = new Set(models)
  const waiting = new Set(services.map(({ service }) => service))
  const reasons: string[] = []
  for (const { service, answer } of services) {
    void answer.then((listed) => {
      waiting.delete(service)
      if (listed.kind === 'none') reasons.push(`${service}: ${oneLine(listed.why, 300)}`)
      if (listed.kind === 'models') {
        // Rows are appended, so that the selected row stays in place.
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
