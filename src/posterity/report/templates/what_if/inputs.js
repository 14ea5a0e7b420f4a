// Values of the inputs to encoded columns. Missing is null.

const ENCODERS = {
  number(part, value) {
    if (part.keeps && value === null) return [NaN];
    const z = ((value ?? part.fill) - part.mean) / part.scale;
    return part.indicator ? [z, value === null ? 1 : 0] : [z];
  },

  category(part, value) {
    if (part.codes) {
      const at = part.levels.indexOf(value);
      return part.codes[value === null ? part.levels.length + 1 : at < 0 ? part.levels.length : at];
    }
    const encoded = new Array(part.levels.length + part.other + part.missing).fill(0);
    let place = value === null ? -1 : part.levels.indexOf(value);
    if (value === null && part.missing) place = encoded.length - 1;
    if (value !== null && place < 0 && part.other) place = part.levels.length;
    if (place >= 0) encoded[place] = 1;
    return encoded;
  },

  date(part, value) {
    const encoded = [((value ?? part.origin) - part.origin) / part.scale];
    for (const period of part.periods) {
      const turns = value === null ? 0 : value / period;
      const angle = 2 * Math.PI * (turns - Math.floor(turns));
      encoded.push(value === null ? 0 : Math.cos(angle), value === null ? 0 : Math.sin(angle));
    }
    if (part.indicator) encoded.push(value === null ? 1 : 0);
    return encoded;
  },
};

function encoded(inputs, values) {
  return inputs.flatMap((part, i) => ENCODERS[part.kind](part, values[i]));
}
