// The loader and the tables of bench/trajectories, with made-up runs.
import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { type Cell, graded, live, runsOnly, type Run, type Step, step, type Table } from './made-up-runs.ts'

const folder = new URL('../../../../bench/trajectories/', import.meta.url)
const { dataFolder, groupOf, isHandedIn, readRuns, useOf } = (await import(new URL('load.mjs', folder).href)) as {
  readonly dataFolder: (named: string) => string | undefined
  readonly groupOf: (run: Run) => string
  readonly isHandedIn: (run: Run) => boolean | undefined
  readonly readRuns: (file: string) => Run[]
  readonly useOf: (run: Run) => { readonly [figure in 'turns' | 'usd' | 'tokens' | 'ms']?: number }
}
const { disagreements, markdownOf, share, textOf, withTables } = (await import(new URL('cells.mjs', folder).href)) as {
  readonly disagreements: (
    tables: readonly Table[],
    others: readonly Table[],
  ) => { readonly compared: number; readonly found: readonly { readonly row: string; readonly column: string }[] }
  readonly markdownOf: (table: Table) => string
  readonly share: (count: number, of: number) => Cell
  readonly textOf: (cell: Cell) => string
  readonly withTables: (text: string, tables: readonly Table[]) => string
}
const { makeTables } = (await import(new URL('tables.mjs', folder).href)) as {
  readonly makeTables: (
    data: { readonly graded: readonly Run[]; readonly live: readonly Run[]; readonly runsOnly: readonly Run[] },
    options: { readonly seed: number; readonly names?: readonly string[] },
  ) => Promise<Table[]>
}

const { closedCommand } = (await import(new URL('step-work.mjs', folder).href)) as {
  readonly closedCommand: (command: string) => string
}
const { playedPieces } = (await import(new URL('played-calls.mjs', folder).href)) as {
  readonly playedPieces: (run: Run) => readonly (readonly { readonly content: string; readonly ms: number }[])[]
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'halting-trajectories-test-'))

describe('the loader', () => {
  it('reads one run per line, compressed or not', () => {
    const text = graded.map((run) => JSON.stringify(run)).join('\n')
    const [plain, small] = [join(newFolder(), 'runs.jsonl'), join(newFolder(), 'runs.jsonl.gz')]
    writeFileSync(plain, `${text}\n`)
    writeFileSync(small, gzipSync(text))
    expect(readRuns(plain)).toEqual(graded)
    expect(readRuns(small)).toEqual(graded)
    expect(readRuns(join(newFolder(), 'missing'))).toEqual([])
  })

  it('names the line that it cannot read', () => {
    const file = join(newFolder(), 'runs.jsonl')
    writeFileSync(file, `${JSON.stringify(graded[0])}\n{"task":`)
    expect(() => readRuns(file)).toThrow(/runs\.jsonl, line 2: not valid JSON/)
    writeFileSync(file, '{"task":"a"}')
    expect(() => readRuns(file)).toThrow(/line 1: a run needs agent, task and outcome/)
  })

  it('finds a folder by its files', () => {
    const found = newFolder()
    expect(dataFolder(found)).toBeUndefined()
    writeFileSync(join(found, 'live.jsonl.gz'), '')
    expect(dataFolder(found)).toBe(found)
  })

  it('distinguishes answers from limits, if the source says how a run ended', () => {
    const run = (fields: Partial<Run>): Run => ({ ...(graded[0] as Run), ...fields })
    expect(isHandedIn(run({ ending: 'submitted' }))).toBe(true)
    expect(isHandedIn(run({ ending: 'submitted (exit_cost)' }))).toBe(false)
    expect(isHandedIn(run({ ending: 'agent_timeout' }))).toBe(false)
    expect(isHandedIn(run({ source: 'sierra-research/tau-bench', ending: null }))).toBeUndefined()
    expect(isHandedIn(run({ source: 'eval-sys/mcpmark-experiments', ending: null }))).toBe(true)
    expect(isHandedIn(run({ source: 'laude-institute/terminal-bench-leaderboard', ending: 'unset' }))).toBe(true)
  })

  it('sums steps if there are no totals, and treats 0 tokens as missing', () => {
    const [run] = graded as [Run]
    expect(useOf(run)).toEqual({ turns: run.steps?.length, usd: run.usd, tokens: undefined, ms: undefined })
    expect(useOf({ ...run, tokens: { in: 0, out: 0 } }).tokens).toBeUndefined()
    const steps: Step[] = [
      step('ls', { ms: 10, tokens: { in: 1, out: 2 } }),
      step('pwd', { ms: 5, tokens: { in: 3, out: 4 } }),
    ]
    expect(useOf({ ...run, steps })).toMatchObject({ turns: 2, tokens: 10, ms: 15 })
    expect(useOf({ ...run, seconds: 2, turns: 7 })).toMatchObject({ turns: 7, ms: 2000 })
  })

  it('groups by source, agent and model', () => {
    expect(groupOf(live[0] as Run)).toBe('live')
    expect(groupOf(runsOnly[0] as Run)).toBe('mcpmark')
  })
})

describe('steps as calls', () => {
  it('close what a cut left open in a command, and leave complete ones unchanged', () => {
    expect(closedCommand("cat > a.py <<'EOF'\na = 1\nb =")).toBe("cat > a.py <<'EOF'\na = 1\nb =\nEOF\n")
    expect(closedCommand("sed -i 's/a/b")).toBe("sed -i 's/a/b'")
    const whole = ["cat > a.py <<'EOF'\na = 1\nEOF\npython a.py", 'echo "it\'s"', 'ls -l']
    expect(whole.map(closedCommand)).toEqual(whole)
  })

  it('start again where a person answers, and write digests in letters that no mask removes', () => {
    const [run] = graded as [Run]
    const said = { ...step(''), tool: 'say' }
    const pieces = playedPieces({ ...run, steps: [step('ls', { ms: 9 }), said, step('pwd'), step('id')] })
    expect(pieces.map(({ length }) => length)).toEqual([1, 2])
    expect(pieces[0]?.[0]?.content).toMatch(/\n[g-v]{16}$/)
    // Only for people at work is the time that of the call.
    expect(pieces[0]?.[0]?.ms).toBe(0)
    expect(playedPieces({ ...run, outcome: null, steps: [step('ls', { ms: 9 })] })[0]?.[0]?.ms).toBe(9)
  })
})

describe('cells', () => {
  it('are shares with their exact interval', () => {
    expect(textOf(share(1, 10))).toBe('10 % (0 to 45), 1 of 10')
    expect(textOf(share(0, 1731))).toBe('0 % (0 to 0.21), 0 of 1,731')
    expect(textOf(undefined)).toBe('–')
  })

  it('are inserted between the markers of a page, and nowhere else', () => {
    const table = { id: 'a', title: '', note: '', head: ['x', 'y'], rows: [['one', 2]] }
    const page =
      'before\n<!-- table: a -->\nold\n<!-- end of table -->\n<!-- table: b -->\nstays\n<!-- end of table -->\n'
    const written = withTables(page, [table])
    expect(written).toBe(
      `before\n<!-- table: a -->\n\n${markdownOf(table)}\n\n<!-- end of table -->\n<!-- table: b -->\nstays\n<!-- end of table -->\n`,
    )
    expect(withTables(written, [table])).toBe(written)
  })

  it('of two halves disagree if their intervals do not overlap', () => {
    const table = (cell: Cell): Table => ({
      id: 'a',
      title: '',
      note: '',
      head: ['runs', 'solved'],
      rows: [['x', cell]],
    })
    expect(disagreements([table(share(5, 100))], [table(share(7, 100))])).toEqual({ compared: 1, found: [] })
    const { found } = disagreements([table(share(5, 100))], [table(share(70, 100))])
    expect(found).toMatchObject([{ row: 'x', column: 'solved' }])
  })
})

describe('the tables of made-up runs', () => {
  const made = (name: string): Promise<Table[]> => makeTables({ graded, live, runsOnly }, { seed: 1, names: [name] })
  const cellOf = (tables: readonly Table[], id: string, row: string, column: string): Cell => {
    const table = tables.find((each) => each.id === id)
    const at = table?.head.indexOf(column) ?? -1
    return table?.rows.find(([name]) => name === row)?.[at]
  }

  it('say how runs end', async () => {
    const tables = await made('endings')
    expect(cellOf(tables, 'endings', 'mini-swe-agent', 'solved')).toMatchObject({ count: 40, of: 80 })
    expect(cellOf(tables, 'endings', 'mini-swe-agent', 'failures handed in as done')).toMatchObject({
      count: 40,
      of: 40,
    })
    expect(cellOf(tables, 'endings', 'mcpmark, all models', 'solved')).toMatchObject({ count: 320, of: 640 })
  })

  it('find a sign of failure if there is one, and none otherwise', async () => {
    const tables = await made('foretelling')
    expect(cellOf(tables, 'foretelling-end', 'mini-swe-agent', 'figure')).toBeUndefined()
    expect(cellOf(tables, 'foretelling-end', 'failing steps', 'mini-swe-agent')).toMatchObject({ value: 1 })
    const turns = cellOf(tables, 'foretelling-end', 'turns', 'mini-swe-agent')
    expect(turns).toMatchObject({ value: expect.closeTo(0.5, 1) })
    expect(cellOf(tables, 'foretelling-same-task', 'mcpmark', 'the same task')).toMatchObject({ value: 0.5 })
  })

  it('run the loop on recorded runs: it stops the one that repeats itself', async () => {
    const tables = [...(await made('repetition')), ...(await made('together'))]
    const guard = 'the guard: reminds at 3, stops at 5'
    expect(cellOf(tables, 'repetition', guard, 'stops, live')).toMatchObject({ count: 1, of: 30 })
    expect(cellOf(tables, 'repetition', guard, 'reminds, live')).toMatchObject({ count: 1, of: 30 })
    expect(cellOf(tables, 'reminders', 'equal turns', 'live')).toMatchObject({ count: 1, of: 30 })
    expect(cellOf(tables, 'repetition', guard, 'stops, solved')).toMatchObject({ count: 0, of: 40 })
    expect(cellOf(tables, 'together', 'all of them', 'live')).toMatchObject({ count: 1, of: 30 })
    expect(cellOf(tables, 'together', '$10 a run', 'solved')).toMatchObject({ count: 0, of: 40 })
  })

  it('find the runs that nobody checked, and ask in those', async () => {
    const tables = await made('unchecked')
    const row = 'mini-swe-agent, all runs'
    expect(cellOf(tables, 'unchecked', row, 'of those that failed')).toMatchObject({ count: 40, of: 40 })
    expect(cellOf(tables, 'unchecked', row, 'of those that were solved')).toMatchObject({ count: 0, of: 40 })
    const asked = (runs: string, column: string): Cell => cellOf(tables, 'unchecked-questions', runs, column)
    expect(asked('mini-swe-agent, failed', 'asked, the project names a check')).toMatchObject({ count: 40, of: 40 })
    expect(asked('mini-swe-agent, failed', 'asked, a check ran in the run')).toMatchObject({ count: 0, of: 40 })
    expect(asked('mini-swe-agent, solved', 'asked, the project names a check')).toMatchObject({ count: 0, of: 40 })
    expect(asked('live', 'asked, the project names a check')).toMatchObject({ count: 0, of: 30 })
  })

  it('try limits on tasks that they were not calibrated on', async () => {
    const tables = await made('limits')
    const rows = tables.flatMap((table) => table.rows)
    const [, , , lost, saved] = rows.find((row) => JSON.stringify(row.slice(0, 3)) === manyTokens) ?? []
    // Every other failed run uses 50,000 tokens more than any solved one: two thirds of all tokens are beyond the limit.
    expect(lost).toMatchObject({ value: expect.closeTo(0.05, 1) })
    expect(lost).not.toMatchObject({ value: 0 })
    expect(saved).toMatchObject({ value: expect.closeTo(0.66, 1) })
    expect(rows.map(([, , share]) => share)).toContain('2 %')
  })
})

const manyTokens = JSON.stringify(['mcpmark, one limit for all models', 'tokens', '5 %'])

describe('the program', () => {
  const program = fileURLToPath(new URL('run.mjs', folder))

  it('says that there is no data, and succeeds', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, '--data', newFolder()])
    expect(stdout).toBe('')
    expect(stderr).toContain('There are no recorded runs')
  })

  it('refuses an unknown table, and lists the known ones', async () => {
    await expect(promisify(execFile)(process.execPath, [program, 'nonsense'])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Tables: endings, foretelling'),
    })
  })
})
