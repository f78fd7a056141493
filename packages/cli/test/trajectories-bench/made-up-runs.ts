// Made-up runs, in the form of the recorded ones. They contain no text of a recorded run.
import { createHash } from 'node:crypto'

export interface Step {
  readonly n: number
  readonly tool: string
  readonly input: { readonly s: string; readonly sha: string; readonly mask: string; readonly len: number }
  readonly output: {
    readonly head: string
    readonly tail: string
    readonly sha: string
    readonly mask: string
    readonly len: number
  }
  readonly exit: number | null
  readonly error: boolean
  readonly ms?: number
  readonly tokens?: { readonly in: number; readonly out: number }
  readonly usd?: number
}

export interface Run {
  readonly source: string
  readonly agent: string
  readonly model: string
  readonly task: string
  readonly trial?: number
  readonly outcome: boolean | null
  readonly ending: string | null
  readonly usd?: number
  readonly turns?: number
  readonly seconds?: number
  readonly tokens?: { readonly in: number; readonly out: number }
  readonly steps?: readonly Step[]
}

export type Cell =
  | string
  | number
  | {
      readonly value: number
      readonly low?: number
      readonly high?: number
      readonly count?: number
      readonly of?: number
    }
  | undefined

export interface Table {
  readonly id: string
  readonly title: string
  readonly note: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

let made = 0

/** 16 digits that represent a text. */
const digest = (text: string): string => createHash('sha1').update(text).digest('hex').slice(0, 16)

/** A step of bash with its output. */
export function step(command: string, fields: Partial<Step> & { readonly printed?: string } = {}): Step {
  const { printed = `output ${made}`, ...others } = fields
  made++
  return {
    n: made,
    tool: 'bash',
    input: { s: command, sha: digest(command), mask: digest(command.replaceAll(/\d+/g, '#')), len: command.length },
    output: {
      head: printed,
      tail: '',
      sha: digest(printed),
      mask: digest(printed.replaceAll(/\d+/g, '#')),
      len: printed.length,
    },
    exit: 0,
    error: false,
    ...others,
  }
}

const many = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

/** 80 runs: the 40 that failed have failing steps, edited and never checked; the others ran the tests. */
export const graded: readonly Run[] = many(80).map((index) => {
  const outcome = index % 2 === 0
  const looks = many(3 + (index % 7)).map((look) =>
    step(`grep word${look} src/file.py`, { error: !outcome && look === 1 }),
  )
  const edit = step("cat > src/file.py <<'END'\na = 1\nb = 2\nc = 3\nd = 4\nEND")
  const check = outcome ? [step('python -m pytest tests', { printed: '3 passed in 0.1s' })] : [step('cat src/file.py')]
  return {
    source: 'gruckion/mini-swe-agent',
    agent: 'mini-swe-agent 1.15',
    model: 'made-up',
    task: `swebench/${index}`,
    outcome,
    ending: 'Submitted',
    usd: 0.1 + 0.01 * (index % 9),
    steps: [...looks, edit, ...check],
  }
})

/** 30 runs of people: one of them does the same thing eight times. */
export const live: readonly Run[] = many(30).map((index) => ({
  source: 'made-up/project',
  agent: 'claude-code',
  model: 'made-up',
  task: `live/${index}`,
  outcome: null,
  ending: 'completed',
  usd: 0.2,
  steps:
    index === 7
      ? many(8).map(() => step('cat status', { printed: 'not yet' }))
      : many(6).map((look) => step(`ls folder${look}`, { usd: 0.01, tokens: { in: 1000, out: 20 } })),
}))

/** 2 models at 80 tasks, 4 runs each: whether one fails is independent of its turns. */
export const runsOnly: readonly Run[] = ['small', 'large'].flatMap((model) =>
  many(80).flatMap((task) =>
    many(4).map((trial) => ({
      source: 'eval-sys/mcpmark-experiments',
      agent: 'mcpmark react',
      model,
      task: `mcpmark/${task}`,
      trial,
      outcome: trial < 2,
      ending: null,
      turns: 5 + (task % 10),
      seconds: 10 + task,
      tokens: { in: 1000 + 100 * task + (trial < 2 ? 0 : 50_000 * (task % 2)), out: 100 },
    })),
  ),
)
