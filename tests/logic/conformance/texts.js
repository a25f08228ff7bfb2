//: slicing
const s = 'abcdef'; out(s.slice(-3, -1), s.substring(4, 1), s.substr(-2, 1), s.at(-1), s[2], s[9] === undefined, s.charAt(9))
//: searching in texts
out('banana'.indexOf('an', 2), 'banana'.lastIndexOf('an'), 'abc'.includes('b'), 'abc'.startsWith('b', 1), 'abc'.endsWith('b', 2), 'abc'.search(/c/))
//: padding, repeating, trimming
out('5'.padStart(3, '0'), 'ab'.padEnd(5, 'xy'), 'ab'.repeat(3), ' \n\u00a0\ufeffa\t'.trim(), ' a '.trimStart(), ' a '.trimEnd()); try { 'a'.repeat(-1) } catch (e) { out(e.name) }
//: splitting and joining
out('a,b,,c'.split(','), 'abc'.split(''), 'abc'.split('', 2), 'a1b2'.split(/\d/), 'a1b2'.split(/(\d)/), ''.split(','), ''.split(''))
//: replacing texts
out('aXbX'.replace('X', '-'), 'aXbX'.replaceAll('X', '-'), 'abc'.replace('b', '[$&$`$\']'), 'abc'.replace('b', (m, at, all) => m + at + all))
//: code points
const e = '\u{1F600}a'; out(e.length, [...e].length, e.codePointAt(0), e.charCodeAt(1), String.fromCodePoint(128512), String.fromCharCode(65, 66), e.at(-1))
//: lone surrogates
const l = 'a\ud800b'; out(l.length, l.isWellFormed(), l.toWellFormed(), [...l].length, encodeURIComponent('é')); try { encodeURIComponent('\ud800') } catch (e) { out(e.name) }
//: case
out('ß'.toUpperCase(), 'İ'.toLowerCase().length, 'ΑΣ'.toLowerCase(), 'ǆ'.toUpperCase(), 'straße'.toLocaleUpperCase())
//: normalising
out('\u0041\u030a'.normalize() === '\u00c5', 'ﬁ'.normalize('NFKC'), '\u00c5'.normalize('NFD').length); try { 'a'.normalize('X') } catch (e) { out(e.name) }
//: comparing
out('a'.localeCompare('b'), 'a' < 'B', 'Z' < 'a', 'ä' > 'z', ['b', 'a', 'C'].sort())
//: concatenation and conversion
out('a' + 1 + 2, 1 + 2 + 'a', 'a' - 1, '3' * '4', `${null}${undefined}${[1, [2]]}`, String(Symbol('s')), 'a'.concat(1, null)); try { '' + Symbol() } catch (e) { out(e.name) }
//: texts are not changed
const s = 'abc'; try { s[0] = 'X' } catch (e) { out(e.name) } try { s.length = 1 } catch (e) { out(e.name) } out(s)
//: String objects
const o = new String('ab'); out(typeof o, o.length, o[1], Object.keys(o), o == 'ab', JSON.stringify(o), [...o])
//: encode and decode URI
out(encodeURI('a b/é?x=1&y=#'), encodeURIComponent('a b/?&'), decodeURIComponent('%C3%A9%20'), decodeURI('%2F%20')); try { decodeURIComponent('%') } catch (e) { out(e.name) }
//: escape and unescape
out(typeof escape === 'function' ? [escape('é a'), unescape('%E9')] : 'absent')
//: parsing numbers from texts
out(Number(''), Number(' 12 '), Number('1e3'), Number('0x1f'), Number('1_0'), Number('12px'), parseInt('12px'), parseInt('0x1f'), parseInt('z', 36), parseFloat('3.5.1'), parseInt(''), +'Infinity')
//: iterating combining characters
out([...'e\u0301'].length, 'e\u0301'.normalize().length, Array.from('añ', (c) => c.codePointAt(0)))
//: template with nested templates
const f = (x) => `a${`b${x}`}c`; out(f(1), f`2`)
//: line terminators in texts
out('\u2028\u2029'.length, 'a\
b', JSON.stringify('\u2028'))
//: matchAll and match
out('a1b2'.match(/\d/g), [...'a1b2'.matchAll(/([a-z])(\d)/g)].map((m) => [m[1], m[2], m.index]), 'abc'.match(/x/), 'abc'.match('b').index); try { 'a'.matchAll(/a/) } catch (e) { out(e.name) }
//: split with limits and captures
out('a-b-c'.split('-', 2), 'abc'.split(/(?=b)/), 'aXbxc'.split(/x/i))
