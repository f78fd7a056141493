import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const guide = ['cluster', 'operating']
  .map((page) => readFileSync(join(process.cwd(), `docs/guide/${page}.md`), 'utf8'))
  .join('\n')

/** The command blocks under a heading of the guide, as lines. */
export function blocksOf(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = guide.split(`\n## ${heading}\n`)
  const [own = ''] = section.split('\n## ')
  return [...own.matchAll(/```sh\n([^`]*)```/g)].map(([, block = '']) => block.trimEnd().split('\n'))
}

/** Splits a command into words; a quoted part is one word. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}
