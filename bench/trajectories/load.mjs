// Reads recorded runs of agents: which files exist, and the parts of a run that the tables need.
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

/**
 * @typedef {{ n: number, tool: string, kind?: string, input?: { s: string, sha: string, mask: string, len: number },
 *   output?: { head: string, tail: string, sha: string, mask: string, len: number }, exit?: number | null, error?: boolean, ms?: number,
 *   tokens?: { in?: number | null, out?: number | null }, usd?: number, text?: string }} Step
 * @typedef {{ source: string, agent: string, model: string, task: string, trial?: string | number, outcome: boolean | null, ending: string | null,
 *   usd?: number, turns?: number, seconds?: number | null, tokens?: { in?: number | null, out?: number | null }, steps?: Step[] }} RecordedRun
 * @typedef {{ graded: RecordedRun[], live: RecordedRun[], runsOnly: RecordedRun[] }} Data
 */

const inRepository = fileURLToPath(new URL('../../', import.meta.url))
// A worktree may be one folder deeper than the repository.
const usualFolders = ['../shared/data/trajectories', '../../shared/data/trajectories'].map((path) => resolve(inRepository, path))

/** The folder of the data: the given one, or the usual one. Undefined if that is missing. @param {string | undefined} named */
export function dataFolder(named) {
  const folders = named === undefined ? usualFolders : [resolve(named)]
  return folders.find((folder) => existsSync(join(folder, 'train.jsonl.gz')) || existsSync(join(folder, 'live.jsonl.gz')) || existsSync(join(folder, 'runs-only.jsonl.gz')))
}

/**
 * The runs of a file, one per line, compressed or not. Empty if there is no such file.
 * @param {string} file @returns {RecordedRun[]}
 */
export function readRuns(file) {
  if (!existsSync(file)) return []
  const bytes = readFileSync(file)
  const text = (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString('utf8')
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    let run
    try {
      run = JSON.parse(line)
    } catch (error) {
      throw new Error(`${file}, line ${index + 1}: not valid JSON (${error.message})`)
    }
    if (typeof run?.task !== 'string' || typeof run.agent !== 'string' || !('outcome' in run)) throw new Error(`${file}, line ${index + 1}: a run needs agent, task and outcome`)
    return [run]
  })
}

/** @param {string} folder @param {{ graded?: string, live?: string, runsOnly?: string }} [named] other files @returns {Data} */
export function readData(folder, named = {}) {
  return {
    graded: readRuns(named.graded ?? join(folder, 'train.jsonl.gz')),
    live: readRuns(named.live ?? join(folder, 'live.jsonl.gz')),
    runsOnly: readRuns(named.runsOnly ?? join(folder, 'runs-only.jsonl.gz')),
  }
}

const groupNames = [
  [/^gruckion\//, 'mini-swe-agent'],
  [/^nilenso\//, 'SWE-bench Pro'],
  [/^sierra-research\//, 'tau-bench'],
  [/^blakeelias\//, 'tau2-bench'],
  [/^eval-sys\//, 'mcpmark'],
]

/** The short name of a source and agent, as in the tables. @param {RecordedRun} run */
export function groupOf({ source, agent, model, outcome }) {
  if (outcome === null) return 'live'
  const name = groupNames.find(([pattern]) => pattern.test(source ?? ''))?.[1]
  if (name === 'SWE-bench Pro') return `${name}, ${model}`
  if (name !== undefined) return name
  const short = agent.replace(/ \(times only\)$/, '')
  return source?.startsWith('laude-institute/') ? `Terminal-Bench, ${short}` : short
}

/** The runs by group, in order of first appearance. @param {readonly RecordedRun[]} runs @returns {Map<string, RecordedRun[]>} */
export function byGroup(runs, nameOf = groupOf) {
  const groups = new Map()
  for (const run of runs) {
    const name = nameOf(run)
    if (groups.has(name)) groups.get(name).push(run)
    else groups.set(name, [run])
  }
  return groups
}

const handedIn = new Set(['submitted', 'Submitted', 'FINISHED', 'user_stop', 'completed'])

/** Whether the agent itself ended the run with its answer. Undefined if the source does not say. @param {RecordedRun} run */
export function isHandedIn({ ending, source }) {
  if (ending !== null && ending !== undefined) return handedIn.has(ending) || (ending === 'unset' && source.startsWith('laude-institute/'))
  // Its harness writes an error if a run did not end by itself.
  return source?.startsWith('eval-sys/') ? true : undefined
}

/** Steps without a call: the agent wrote to a person, or nothing that its harness could run. */
const withoutCall = new Set(['say', 'answer', 'none'])

/** @param {Step} step */
export const isCall = ({ tool }) => !withoutCall.has(tool)

/** The count of all tokens. Undefined if it was not recorded. @param {{ in?: number | null, out?: number | null } | undefined} tokens */
export function tokensOf(tokens) {
  const sum = (tokens?.in ?? 0) + (tokens?.out ?? 0)
  return sum > 0 ? sum : undefined
}

/** What a run used, as far as it was recorded. @param {RecordedRun} run */
export function useOf(run) {
  const steps = run.steps ?? []
  const sum = (valueOf) => {
    const values = steps.map(valueOf).filter((value) => value !== undefined)
    return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0)
  }
  const turns = run.turns ?? (run.steps === undefined ? undefined : steps.length)
  const ms = run.seconds === undefined ? sum((step) => step.ms) : run.seconds === null ? undefined : run.seconds * 1000
  return { turns, usd: run.usd ?? undefined, tokens: tokensOf(run.tokens) ?? sum((step) => tokensOf(step.tokens)), ms }
}
