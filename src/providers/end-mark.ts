/** The end mark of an event stream that stands where JSON would. Pure. */

const DONE = '[DONE]'
/** The mark and some white space round it: longer data is not worth a look. */
const LONGEST = 16

/** True of the data of an event that is the mark, in whatever letters. */
export function isEndMark(data: string): boolean {
  return data.length <= LONGEST && data.trim().toUpperCase() === DONE
}
