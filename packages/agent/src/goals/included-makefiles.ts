import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { smallTextAt } from './file-hashes.ts'

const most = 200

/**
 * Returns the texts of makefiles that a definition includes or delegates to (`$(MAKE) -C sub`), recursively, each
 * after its path. Omits what only make can determine: computed names, and dependency lists (`.d`) that builds write.
 */
export function includedMakefiles(definition: string, folder: string): readonly string[] {
  const found = new Map<string, string>()
  const add = (text: string, at: string): void => {
    for (const path of [...includedIn(text, at), ...handedOverIn(text, at)]) {
      const behind = found.has(path) || found.size >= most ? undefined : smallTextAt(path)
      if (behind === undefined) continue
      found.set(path, behind)
      const isInclude = !handedOverIn(text, at).includes(path)
      add(behind, isInclude ? at : resolve(path, '..'))
    }
  }
  add(definition, folder)
  return [...found].toSorted(([one], [other]) => (one < other ? -1 : 1)).flat()
}

const writtenByBuilds = /\.(?:d|P|Po|Plo|dep|deps)$/

function includedIn(text: string, folder: string): readonly string[] {
  return [...text.matchAll(/^ *[-s]?include\s+(.*)$/gm)].flatMap(([, names = '']) =>
    wordsIn(names, text)
      .filter((name) => !writtenByBuilds.test(name))
      .flatMap((name) => pathsOf(name, folder)),
  )
}

/** Returns the makefiles of folders in which recipes run make again. */
function handedOverIn(text: string, folder: string): readonly string[] {
  const recursive =
    /(?:\$[({]MAKE[)}]|\bmake)(?![\w-])[^\n;&|]*?\s(?:-C\s*|--directory[= ])(\S+)|\bcd\s+(\S+)\s*&&\s*(?:\$[({]MAKE[)}]|make\b)/g
  return [...text.matchAll(recursive)].flatMap(([, option, changed]) =>
    wordsIn(option ?? changed ?? '', text)
      .flatMap((name) => pathsOf(name, folder))
      .flatMap((at) => ['GNUmakefile', 'makefile', 'Makefile'].map((name) => join(at, name))),
  )
}

/**
 * Returns the words of a list, with the values of plain variables substituted; words with other variables are omitted.
 */
function wordsIn(nameList: string, text: string): readonly string[] {
  const variables = new Map(
    [...text.matchAll(/^ *([\w.-]+)\s*[:?]*=\s*([^\s$#]+)\s*$/gm)].map(([, name = '', value = '']) => [name, value]),
  )
  const plain = nameList
    .replaceAll(/#.*$/g, '')
    .replaceAll(/\$[({]wildcard\s+([^)}]*)[)}]/g, '$1')
    .replaceAll(/\$[({]([\w.-]+)[)}]/g, (whole, name: string) => variables.get(name) ?? whole)
  return plain.split(/\s+/).filter((word) => word !== '' && !/[$(){}]/.test(word))
}

/** Existing files and folders that match a name with `*` and `?`. */
function pathsOf(name: string, folder: string): readonly string[] {
  if (!/[*?]/.test(name)) return [resolve(folder, name)]
  let paths: readonly string[] = [name.startsWith('/') ? '/' : folder]
  for (const part of name.split('/').filter(Boolean)) {
    const fits = new RegExp(
      `^${part
        .replaceAll(/[.+^$|[\]\\]/g, '\\$&')
        .replaceAll('*', '.*')
        .replaceAll('?', '.')}$`,
    )
    paths = /[*?]/.test(part)
      ? paths.flatMap((at) =>
          namesIn(at)
            .filter((one) => fits.test(one))
            .map((one) => join(at, one)),
        )
      : paths.map((at) => join(at, part))
    paths = paths.slice(0, most)
  }
  return paths
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    return []
  }
}
