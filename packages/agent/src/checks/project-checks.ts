import {
  checksOfFixedFiles,
  checksOfPackage,
  checksOfPython,
  checksOfTaskFiles,
  type DeclaredCheck,
} from './declared-checks.ts'
import { ProjectFolder } from './project-folder.ts'

const maxChecks = 12
const maxFolders = 20
const order = ['tests', 'all', 'types', 'lint', 'build'] as const

// Spec R-VERI-12.
/**
 * Returns the checks that project files declare, such as `npm test` and `make lint`, best first: tests, then types,
 * linters and builds. Reads a few small files, follows no link out of the folder, and runs nothing. Commands consist
 * of words known to this library and of plain names. If the folder itself declares none, returns those of its
 * subfolders, with `cd`. Empty if none are found; never rejects.
 */
export async function projectChecks(folder: string): Promise<readonly string[]> {
  try {
    const project = new ProjectFolder(folder)
    const found = await checksIn(project)
    if (found.length > 0) return commandsOf(found)
    const names = project.names().filter(isPart).toSorted().slice(0, maxFolders)
    const ofParts = await Promise.all(names.map((name) => checksOfPart(project, name)))
    return commandsOf(ofParts.flat())
  } catch {
    return []
  }
}

async function checksIn(folder: ProjectFolder): Promise<readonly DeclaredCheck[]> {
  const names = new Set(folder.names())
  const found = await Promise.all([
    checksOfPackage(folder, names),
    checksOfTaskFiles(folder, names),
    checksOfPython(folder, names),
    checksOfFixedFiles(folder, names),
  ])
  return found.flat()
}

async function checksOfPart(project: ProjectFolder, name: string): Promise<readonly DeclaredCheck[]> {
  const part = project.folder(name)
  const found = part === undefined ? [] : await checksIn(part)
  return found.map(({ kind, command }) => ({ kind, command: `cd ${name} && ${command}` }))
}

function isPart(name: string): boolean {
  return (
    /^[A-Za-z][\w.-]{0,40}$/.test(name) && !/^(?:node_modules|vendor|dist|build|target|out|tmp|coverage)$/.test(name)
  )
}

function commandsOf(found: readonly DeclaredCheck[]): readonly string[] {
  const ranked = found.toSorted((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind))
  return [...new Set(ranked.map(({ command }) => command))].slice(0, maxChecks)
}
