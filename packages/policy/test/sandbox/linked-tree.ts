import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A project with links to the outside, into itself and in cycles. */
export function makeLinkedTree(base: string): { readonly project: string; readonly outside: string } {
  const [project, outside] = [join(base, 'project'), join(base, 'outside')]
  mkdirSync(join(project, 'real/deep'), { recursive: true })
  mkdirSync(join(outside, 'conf/inner'), { recursive: true })
  for (const file of ['conf/app.key', 'conf/other', 'conf/inner/.env', 'alone.pem'])
    writeFileSync(join(outside, file), `${file}\n`)
  writeFileSync(join(project, 'real/deep/x.key'), 'x.key\n')
  symlinkSync(join(outside, 'conf'), join(project, 'conf'))
  symlinkSync('real', join(project, 'inside'))
  symlinkSync('..', join(project, 'real/deep/circle'))
  symlinkSync(project, join(outside, 'conf/back'))
  symlinkSync(join(outside, 'alone.pem'), join(project, 'link.pem'))
  return { project, outside }
}
