import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

/** A unified diff of the files of two folders; '' when they are the same. Files of `before` that the copy left out do not count. */
export function changesBetween(before: string, after: string): string {
  return filesOf(after)
    .map((name) => [name, contentOf(join(before, name)), contentOf(join(after, name))] as const)
    .filter(([, old, now]) => old !== now)
    .map(([name, old, now]) =>
      createTwoFilesPatch(`a/${name}`, `b/${name}`, old, now, undefined, undefined, {
        context: 3,
        headerOptions: FILE_HEADERS_ONLY,
      }),
    )
    .join('\n')
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted()
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
