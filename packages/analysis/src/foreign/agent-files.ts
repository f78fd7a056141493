import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { eachParsedLine } from './parsed-lines.ts'
import { ReadTogether, type AgentFiles } from './read-together.ts'
import { textIn } from './parse-values.ts'

const agentName = /^agent-[^/]*\.jsonl$/

/** Files of a session's subagents: in their own folder (those of workflows deeper below), or next to the session with its id inside. */
export async function subagentFiles(
  path: string,
  sessionId: string,
  together: ReadTogether,
): Promise<readonly string[]> {
  const folder = dirname(path)
  const inFolder = await agentFilesIn(join(folder, sessionId, 'subagents'), 'below')
  let sameFolder = together.agents.get(folder)
  if (sameFolder === undefined) together.agents.set(folder, (sameFolder = byParent(folder, together)))
  const sameFolderFiles = (await sameFolder).get(sessionId) ?? []
  return [...inFolder, ...sameFolderFiles.filter((file) => file !== path)]
}

async function byParent(folder: string, together: ReadTogether): Promise<AgentFiles> {
  const files = new Map<string, string[]>()
  for (const file of await agentFilesIn(folder)) {
    const parent = await parentOf(file, together)
    if (parent !== undefined) files.set(parent, [...(files.get(parent) ?? []), file])
  }
  return files
}

async function agentFilesIn(folder: string, how: 'here' | 'below' = 'here'): Promise<readonly string[]> {
  // With `withFileTypes`, links to folders are not followed.
  const entries = await readdir(folder, { recursive: how === 'below', withFileTypes: true }).catch(() => [])
  return entries.flatMap(({ name, parentPath }) => (agentName.test(name) ? [join(parentPath, name)] : [])).toSorted()
}

/** Drops files of subagents whose session is also in the list, because they are counted with it. */
export async function withoutSubagents(
  paths: readonly string[],
  together: ReadTogether = new ReadTogether(),
): Promise<readonly string[]> {
  const agents = paths.filter((path) => agentName.test(basename(path)))
  if (agents.length === 0) return paths
  const all = new Set(paths)
  const counted = new Set<string>()
  for (const path of agents) {
    const id = await parentOf(path, together)
    if (id === undefined) continue
    const folder = dirname(path)
    const own = ownFolderOf(folder)
    const sessions = [join(folder, `${id}.jsonl`), ...(own === undefined ? [] : [join(own, '..', '..', `${id}.jsonl`)])]
    if (sessions.some((session) => all.has(session))) counted.add(path)
  }
  return paths.filter((path) => !counted.has(path))
}

/** Maximum depth of a file below the folder of subagents: `subagents/workflows/wf_…`. */
const maxDepth = 4

/** The closest folder named `subagents`: this one or one of its parents. */
function ownFolderOf(folder: string): string | undefined {
  let at = folder
  for (let level = 0; level <= maxDepth; level++, at = dirname(at)) if (basename(at) === 'subagents') return at
  return undefined
}

const maxHeadLines = 200

/** The id of the session that a subagent's file belongs to. A missing id is not cached: it may be written later. */
async function parentOf(path: string, { parents }: ReadTogether): Promise<string | undefined> {
  const known = parents.get(path)
  if (known !== undefined) return known
  let id: string | undefined
  let lines = 0
  await eachParsedLine(path, (line) => {
    id = textIn(line?.['sessionId'])
    return id === undefined && ++lines < maxHeadLines
  }).catch(() => undefined)
  if (id !== undefined) parents.set(path, id)
  return id
}
