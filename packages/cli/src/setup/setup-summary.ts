import { counted, many, oneLine } from '../io/figures.ts'
import { tableLines } from '../io/table.ts'
import type { ModelChoice, SetupFindings, CurrentModel } from './choices.ts'
import type { LocalFinding } from './local-models.ts'

/** The result of setup. */
export interface SetupOutcome {
  /** Whether a run can start, as far as this is known without contacting a service. */
  readonly isReady: boolean
  readonly written: boolean
  readonly says: string
  readonly chosen?: ModelChoice
  readonly path?: string
  readonly diff?: string
}

/** Maximum number of model names per server. */
const maxNames = 5

/** Everything that was found, and what cannot be used and why. Texts from files and servers are kept on one line. */
export function findingsText({ keys, local, agents }: SetupFindings, current: CurrentModel, home: string): string {
  const short = (path: string): string => (path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path)
  const keyRows = keys.map(({ variable, service, from, unused }) => [
    variable,
    `${service}${from === 'settings' ? ', in the settings' : ''}${unused === undefined ? '' : `: ${unused}`}`,
  ])
  const agentRows = agents.flatMap(({ agent, path, says }) =>
    [short(path), ...says].map((text, index) => [index === 0 ? agent : '', index === 0 ? text : `  ${text}`]),
  )
  return [
    ...section('Keys', keyRows, 'none in the environment'),
    ...section('Models on this machine', local.map(localRow), ''),
    ...section('Other agents', agentRows, 'no settings of Claude Code, Codex, Gemini CLI or opencode'),
    `Current model: ${oneLine(current.model, 200)} (${current.from})${current.problem === undefined ? '.' : `. It cannot be used: ${oneLine(current.problem, Infinity)}`}`,
    '',
  ].join('\n')
}

function section(title: string, rows: readonly (readonly string[])[], none: string): readonly string[] {
  if (rows.length === 0) return [title, `  ${none}`, '']
  const cells = rows.map(([name = '', text = '']) => [name, oneLine(text, Infinity)])
  return [title, ...tableLines(cells, { columns: [{}, {}] }), '']
}

function localRow({ title, address, probed, variable }: LocalFinding): readonly string[] {
  const where = `${title} (${oneLine(address, 100)})`
  switch (probed.kind) {
    case 'absent':
      return [where, `no response; set ${variable} if it runs elsewhere`]
    case 'wants_key':
      return [where, 'responds, but lists its models only with a key']
    case 'not_asked':
      return [where, `not contacted: ${probed.says}`]
    case 'unfit':
      return [where, probed.says]
    case 'answers': {
      const names = probed.models
        .slice(0, maxNames)
        .map(({ name, contextWindow }) =>
          contextWindow === undefined ? name : `${name} (${counted(contextWindow)} tokens)`,
        )
      const more = probed.models.length > maxNames ? ' …' : ''
      const left = probed.left === 0 ? '' : `; ${probed.left} more cannot be used (invalid name, or not a text model)`
      return [
        where,
        `${many(probed.models.length, 'model')}${names.length === 0 ? '' : `: ${names.join(', ')}`}${more}${left}`,
      ]
    }
  }
}

/** The choices as a numbered list. */
export function choicesText(choices: readonly ModelChoice[]): string {
  const listedChoices = choices.slice(0, 30)
  const left = choices.length - listedChoices.length
  const lines = [
    ...tableLines(
      listedChoices.map(({ model, because }, index) => [String(index + 1), model, because]),
      { columns: [{ align: 'right', min: 2 }, {}, {}] },
    ),
    ...(left === 0 ? [] : [`  and ${left} more (choose with --model NAME)`]),
  ]
  return `\n${lines.map((line) => `${line}\n`).join('')}`
}

/** The summary as one line of JSON. */
export function setupJson(
  found: SetupFindings,
  current: CurrentModel,
  choices: readonly ModelChoice[],
  { isReady, written, says, chosen, path, diff }: SetupOutcome,
): string {
  const summary = {
    keys: found.keys.map(({ variable, service, from, unused }) => ({
      variable,
      service,
      from,
      unused: unused ?? null,
    })),
    local: found.local.map(({ service, address, probed }) => ({
      service,
      address,
      state: probed.kind,
      models: probed.kind === 'answers' ? probed.models : [],
      says: 'says' in probed ? probed.says : null,
    })),
    agents: found.agents.map(({ agent, path: file, model, says: lines }) => ({
      agent,
      path: file,
      model: model ?? null,
      says: lines,
    })),
    now: { model: current.model, from: current.from, problem: current.problem ?? null },
    choices: choices.map(({ model, because }) => ({ model, because })),
    chosen: chosen?.model ?? null,
    path: path ?? null,
    diff: diff ?? null,
    written,
    canBegin: isReady,
    says,
  }
  return `${JSON.stringify(summary)}\n`
}
