import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { eachParsedLine } from './parsed-lines.ts'
import { ReadTogether, type AgentFiles } from './read-together.ts'
import { textIn } from './values.ts'

const agentName = /^agent-[^/]*\.jsonl$/

/** Files of the subagents of a session: in a folder of its own, or beside it with its id inside. */
export async function subagentFiles(
  path: string,
  sessionId: string,
  together: ReadTogether,
): Promise<readonly string[]> {
  const folder = dirname(path)
  const inOwn = await agentFilesIn(join(folder, sessionId, 'subagents'))
  let besides = together.agents.get(folder)
  if (besides === undefined) together.agents.set(folder, (besides = byParent(folder, together)))
  const beside = (await besides).get(sessionId) ?? []
  return [...inOwn, ...beside.filter((file) => file !== path)]
}

async function byParent(folder: string, together: ReadTogether): Promise<AgentFiles> {
  const files = new Map<string, string[]>()
  for (const file of await agentFilesIn(folder)) {
    const parent = await parentOf(file, together)
    if (parent !== undefined) files.set(parent, [...(files.get(parent) ?? []), file])
  }
  return files
}

async function agentFilesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => agentName.test(name)).map((name) => join(folder, name))
}

/** Without files of subagents that are counted with their session, which is among these. */
export async function withoutSubagents(
  paths: readonly string[],
  together: ReadTogether = new ReadTogether(),
): Promise<readonly string[]> {
  const agents = paths.filter((path) => agentName.test(basename(path)))
  if (agents.length === 0) return paths
  const given = new Set(paths)
  const counted = new Set<string>()
  for (const path of agents) {
    const id = await parentOf(path, together)
    if (id === undefined) continue
    const folder = dirname(path)
    const sessions = [join(folder, `${id}.jsonl`), join(folder, '..', '..', `${id}.jsonl`)]
    if (sessions.some((session) => given.has(session))) counted.add(path)
  }
  return paths.filter((path) => !counted.has(path))
}

const longestHead = 200

/** The session that a subagent's file is of. One that does not say so yet may do so later. */
async function parentOf(path: string, { parents }: ReadTogether): Promise<string | undefined> {
  const known = parents.get(path)
  if (known !== undefined) return known
  let id: string | undefined
  let lines = 0
  await eachParsedLine(path, (line) => {
    id = textIn(line?.['sessionId'])
    return id === undefined && ++lines < longestHead
  }).catch(() => undefined)
  if (id !== undefined) parents.set(path, id)
  return id
}
