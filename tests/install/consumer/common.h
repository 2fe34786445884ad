// Code shared by the programs that train a model.

#pragma once

#include <iostream>
#include <string>

#include "dynet/io.h"
#include "dynet/model.h"

inline int wrong = 0;

inline void check(bool ok, const std::string& what) {
  if (!ok) {
    std::cerr << "wrong: " << what << std::endl;
    ++wrong;
  }
}

/// `to` gets the values of `from` by a file of this name.
inline void through_a_file(const std::string& file, const dynet::ParameterCollection& from,
                           dynet::ParameterCollection& to) {
  {
    dynet::TextFileSaver saver(file);
    saver.save(from);
  }
  dynet::TextFileLoader loader(file);
  loader.populate(to);
}
