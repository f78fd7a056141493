import { type Effect, type Given, type Grammar, unknown } from '../effects.ts'
import { lateOptionMayBeTarget, movedUnknown, needsTwoOperands } from '../shell-texts.ts'

/** Commands that change files. They run by themselves in acceptEdits, where the paths may be edited. */
export const changes: Readonly<Record<string, Grammar>> = {
  mkdir: { options: '-pv --parents --verbose -m:text --mode:text', refused: '-Z --context', operands: ['write'] },
  touch: {
    options: '-acfhm -d:text -t:text --no-create --date:text --no-dereference --time:text',
    refused: '-r --reference',
    operands: ['write'],
  },
  mv: {
    options: '-fnTuv --force --no-clobber --no-target-directory --update --verbose --strip-trailing-slashes',
    refused: '-b --backup -i --interactive -S --suffix -t --target-directory -Z --context',
    operands: ['write tree'],
    check: intoFolder,
  },
  cp: {
    options:
      '-afnpPdrRTuvx --archive --force --no-clobber --no-dereference --recursive --no-target-directory --update --verbose --one-file-system --attributes-only',
    refused:
      '-b --backup --copy-contents -H -i --interactive -l --link -L --dereference --preserve --no-preserve --parents --reflink --remove-destination --sparse --strip-trailing-slashes -s --symbolic-link -S --suffix -t --target-directory -Z --context',
    operands: ['write tree'],
    check: intoFolder,
  },
  rm: {
    options: '-frRdv --force --recursive --dir --verbose --one-file-system --preserve-root?text',
    refused: '-i -I --interactive --no-preserve-root',
    operands: ['write tree'],
  },
  rmdir: {
    options: '-pv --ignore-fail-on-non-empty --parents --verbose',
    operands: ['write tree'],
  },
}

/** Where the last operand is a folder, the others come into it with their own names. */
function intoFolder({ operands, ordered }: Given): readonly Effect[] {
  const target = operands.at(-1)
  if (ordered !== undefined) return unknown(lateOptionMayBeTarget)
  if (target === undefined || operands.length < 2) return unknown(needsTwoOperands)
  if (operands.some(({ kind }) => kind !== 'literal')) return unknown(movedUnknown)
  return operands.slice(0, -1).flatMap((word): readonly Effect[] => {
    const place = `${target.value}/${word.value.replace(/\/+$/, '').replace(/^.*\//s, '')}`
    return [
      { kind: 'relocate', word },
      { kind: 'write tree', word: { source: place, value: place, kind: 'literal' } },
    ]
  })
}
