import { readdirSync, readFileSync } from 'node:fs'

/** One command that does harm where nobody judges it. */
export interface HostileRow {
  readonly group: string
  readonly command: string
  /** How the harm is seen: a canary is shown, a program that nobody named ran, or files whose paths fit changed. */
  readonly harm: 'leak' | 'ran' | RegExp
  /** A script that makes what stands before it, run by whoever prepares the attack. */
  readonly setup: string
  /** It does harm under deny rules alone, and is judged under these. */
  readonly deny: readonly string[]
  /** Further allow rules that a person would have. */
  readonly allow: readonly string[]
  /** A rule that names the command lets it run with the settings of the repository: it is judged without such rules. */
  readonly isByRule: boolean
  /** It does no harm in acceptEdits, where this is allowed. */
  readonly isEdit: boolean
  /** Programs that must be there. */
  readonly needs: readonly string[]
}

/**
 * Reads the files of this folder that are named so. `== name | key=value | …` begins a group, `setup: …` lines follow it, then each line is a
 * command; `⏎` in one is a new line, and what follows ` ## ` a remark.
 */
export function readCorpus(prefix: string): readonly HostileRow[] {
  const names = readdirSync(new URL('./', import.meta.url)).filter(
    (name) => name.startsWith(prefix) && name.endsWith('.txt'),
  )
  return names.toSorted().flatMap((name) => rowsOf(readFileSync(new URL(name, import.meta.url), 'utf8')))
}

function rowsOf(text: string): readonly HostileRow[] {
  const rows: HostileRow[] = []
  let keys = new Map<string, string>()
  let [group, setup] = ['', '']
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('//')) continue
    if (line.startsWith('== ')) {
      const [name = '', ...pairs] = line.slice(3).split(' | ')
      group = name.trim()
      keys = new Map(
        pairs.map((pair) => {
          const [, key = '', value = ''] = /^(\w+)(?:=(.*))?$/s.exec(pair.trim()) ?? []
          return [key, value]
        }),
      )
      setup = ''
    } else if (line.startsWith('setup: ')) setup += `${line.slice(7)}\n`
    else {
      const list = (key: string): readonly string[] => (keys.get(key) ?? '').split(';').filter(Boolean)
      const harm = keys.get('harm') ?? ''
      const command = (line.split(' ## ', 1)[0] ?? '').replaceAll('⏎', '\n')
      rows.push({
        group,
        command,
        harm: harm === 'leak' || harm === 'ran' ? harm : new RegExp(harm),
        setup,
        deny: list('deny'),
        allow: list('allow'),
        isByRule: keys.has('byrule'),
        isEdit: keys.has('edit'),
        needs: [...list('needs'), ...programsIn(command)],
      })
    }
  }
  return rows
}

/** Not everywhere there: where one of these is missing the row is skipped by name. */
const rare: ReadonlySet<string> = new Set(
  'rg gawk tree jq file xxd tar zip unzip curl wget make gcc perl python3 ruby ed vim ex less script setpriv prlimit flock sqlite3 gdb strace openssl bc bwrap tclsh gpg npm npx node tmux watch patch rsync socat busybox setarch unshare nsenter runuser column look shuf ionice chrt taskset lsof pr ptx man strings rustup'.split(
    ' ',
  ),
)

function programsIn(command: string): readonly string[] {
  return [...new Set(command.match(/(?<![\w./-])[a-z][a-z0-9]*(?![\w./-])/g) ?? [])].filter((word) => rare.has(word))
}
